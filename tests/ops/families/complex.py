from opcases import *

C64, C128 = torch.complex64, torch.complex128


def tol(d): return {"tol": 2e-4 if d in (F32, C64) else 1e-9}


def cases(add):
    parts(add)
    arithmetic(add)
    moves(add)
    transforms(add)
    short_time(add)


def parts(add):
    for d in (C64, C128):
        for op in ("view_as_real", "real", "imag", "conj", "_conj_physical", "conj_physical", "abs", "angle", "exp", "log", "reciprocal", "square", "neg", "clone"):
            add(f"aten.{op}", T(d, 2, 3), tol=1e-5 if d == C64 else 1e-12)
    for op in ("angle", "real", "conj"):
        for d in (F32, F64): add(f"aten.{op}", T(d, 2, 3))
    add("aten.angle", T(F32, 9, specials=[math.nan, 0.0, -0.0]))
    for d in (F32, F64):
        add("aten.view_as_complex", T(d, 2, 3, 2))
        add("aten.complex", T(d, 2, 3), T(d, 3))
        add("aten.polar", T(d, 2, 3), T(d, 2, 3), tol=1e-5 if d == F32 else 1e-12)


def arithmetic(add):
    for op in ("add", "sub", "mul", "div"):
        for a, b in [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1, 3), (4, 1)), ((), (3,))]:
            for x, y in [(C64, C64), (C64, F32), (F32, C64)]: add(f"aten.{op}.Tensor", T(x, *a), T(y, *b), **tol(C64))
        add(f"aten.{op}.Tensor", T(C128, 3), T(C128, 3), **tol(C128))
        add(f"aten.{op}.Tensor", T(C64, 3), 2.5, name="number", **tol(C64))
        add(f"aten.{op}.Tensor", T(F32, 3), 1.5 - 2j, name="complex_number", **tol(C64))
    add("aten.add.Tensor", T(C64, 3), T(C64, 3), alpha=2)
    for n in (1, 2, 3, 0.5): add("aten.pow.Tensor_Scalar", T(C64, 4), n, tol=1e-3)
    for op, a, b in [("mm", (2, 3), (3, 4)), ("bmm", (2, 2, 3), (2, 3, 4)), ("matmul", (2, 2, 3), (3, 4))]:
        add(f"aten.{op}", T(C64, *a), T(C64, *b), **tol(C64))


def moves(add):
    x = T(C64, 2, 3, 4)
    for op, args in [("view", ([6, 4],)), ("reshape", ([2, 12],)), ("flatten.using_ints", (1,)), ("permute", ([2, 0, 1],)), ("transpose.int", (0, 1)), ("unsqueeze", (1,)),
                     ("select.int", (1, 2)), ("slice.Tensor", (2, 1, 3)), ("repeat", ([1, 2, 1],)), ("roll", ([1], [2])), ("flip", ([0],)), ("sum", ()),
                     ("sum.dim_IntList", ([1],)), ("mean.dim", ([0],)), ("cumsum", (1,)), ("unbind.int", (1,)), ("split.Tensor", (2, 2)), ("expand", ([5, 2, 3, 4],)),
                     ("constant_pad_nd", ([1, 2], 0.5))]:
        add(f"aten.{op}", x, *args, tol=1e-5)
    add("aten.cat", [x, T(C64, 2, 1, 4)], 1)
    add("aten.stack", [T(C64, 3), T(C64, 3)])
    add("aten.index.Tensor", T(C64, 5, 2), [T(I64, 3, low=0, high=4)])
    add("aten.index_select", T(C64, 5, 2), 0, T(I64, 3, low=0, high=4))
    add("aten.where.self", T(BOOL, 2, 3), T(C64, 2, 3), T(C64, 2, 3))
    add("aten.masked_fill.Scalar", T(C64, 2, 3), T(BOOL, 2, 3), 2.0)
    add("aten._to_copy", T(C64, 3), dtype=C128)
    add("aten.tan", T(C64, 3), refused="not supported on complex tensors")
    add("aten.mul_.Tensor", T(C64, 3), T(C64, 3), tol=1e-5)


def transforms(add):
    for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        halved = kind in ("irfft", "hfft")
        real = kind in ("rfft", "ihfft")
        for n in (1, 2, 7, 8, 12): add(f"aten.fft_{kind}", T(F32 if real else C64, 2, n // 2 + 1 if halved else n), **({"n": n} if halved else {}), name=f"{n}", **tol(C64))
        for norm in ("backward", "ortho", "forward"):
            for m, axis in [(None, -1), (6, 0), (3, 1)]: add(f"aten.fft_{kind}", T(F64 if real else C128, 5, 4, 3), m, axis, norm, name=f"{m}_{axis}_{norm}", **tol(F64))
            for many in ("2", "n"): add(f"aten.fft_{kind}{many}", T(F64 if real else C128, 2, 4, 3), None, [-2, -1], norm, name=f"{norm}", **tol(F64))
        add(f"aten.fft_{kind}n", T(F64 if real else C128, 2, 4, 3), [3, 5], None, name="lengths", **tol(F64))
        add(f"aten.fft_{kind}n", T(F64 if real else C128, 2, 4, 3), name="all", **tol(F64))
    for op in ("fft_fft", "fft_ifft", "fft_fft2"): add(f"aten.{op}", T(F32, 3, 5), name="real", **tol(F32))
    add("aten.fft_rfft", T(I64, 6), name="integers", **tol(F32))
    add("aten.fft_rfft", T(F32, 400), name="long", tol=(1e-4, 1e-3))
    add("aten.fft_rfft", T(F32, 2, 4097), refused="up to 4096")
    for norm in (0, 1, 2):
        add("aten._fft_r2c", T(F64, 4, 6), [0, 1], norm, True, **tol(F64))
        add("aten._fft_r2c", T(F64, 4, 6), [1], norm, False, **tol(F64))
        add("aten._fft_c2c", T(C128, 4, 6), [0, 1], norm, True, **tol(F64))
        add("aten._fft_c2c", T(C128, 4, 6), [0], norm, False, **tol(F64))
        add("aten._fft_c2r", T(C128, 4, 4), [0, 1], norm, 6, **tol(F64))


def short_time(add):
    for d in (F32, F64):
        add("aten.stft", T(d, 40), 8, return_complex=True, **tol(d))
        add("aten.stft", T(d, 2, 40), 8, 3, return_complex=True, **tol(d))
        add("aten.stft", T(d, 40), 8, 4, 6, T(d, 6, low=0.1, high=1), return_complex=True, **tol(d))
        add("aten.stft", T(d, 40), 8, 4, None, T(d, 8, low=0.1, high=1), True, False, True, **tol(d))
        add("aten.stft", T(d, 2, 40), 8, 4, 5, return_complex=False, **tol(d))
        add("aten.stft.center", T(d, 40), 8, 4, window=T(d, 8, low=0.1, high=1), return_complex=True, **tol(d))
        add("aten.stft.center", T(d, 2, 40), 9, 4, pad_mode="constant", return_complex=False, **tol(d))
    add("aten.stft", T(C64, 40), 8, return_complex=True, **tol(C64))
    complex_of = {F32: C64, F64: C128}
    for d in (F32, F64):  # without `center` torch wants windows that add up to more than nothing at the ends
        z = complex_of[d]
        add("aten.istft", T(z, 5, 9), 8, **tol(d))
        add("aten.istft", T(z, 2, 5, 9), 8, 3, **tol(d))
        add("aten.istft", T(z, 2, 5, 9), 8, 2, 6, T(d, 6, low=0.1, high=1), **tol(d))
        add("aten.istft", T(z, 5, 9), 8, 4, None, T(d, 8, low=0.1, high=1), False, True, **tol(d))
        add("aten.istft", T(z, 2, 8, 5), 8, 4, None, T(d, 8, low=0.1, high=1), normalized=True, onesided=False, **tol(d))
        add("aten.istft", T(z, 5, 9), 8, 4, length=30, **tol(d))
        add("aten.istft", T(z, 5, 9), 8, 4, length=40, **tol(d))
        add("aten.istft", T(z, 5, 9), 9, 4, **tol(d))
    add("aten.istft", T(C64, 2, 5, "s0"), 8, 2, where={"s0": (3, 9)}, **tol(F32))

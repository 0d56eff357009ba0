"""Division with rounding, remainders, powers."""
from opcases import *
from families.elementwise import SPECIALS, SHAPES


def both_signs(d, *shape):
    """No zeros."""
    return T(
        d,
        *shape,
        values=None,
        low=1,
        high=5,
        specials=[-1, -2, -3] if d.is_signed and not d.is_floating_point else [-0.5, -1.25, -3.0] if d.is_signed else None,
    )


def cases(add):
    for op in ["floor_divide", "remainder.Tensor", "fmod.Tensor", "div.Tensor_mode:floor", "div.Tensor_mode:trunc", "div.Tensor_mode:"]:
        op, _, mode = op.partition(":")
        more = {"rounding_mode": mode or None} if op.startswith("div") else {}
        for d in FLOATS + INTS:
            add(f"aten.{op}", T(d, 4, 6), both_signs(d, 6), name=f"{NAMES[d]}_{mode or 'plain'}", **more)
        for x, y in SHAPES:
            for d in [F32, I64]: add(f"aten.{op}", T(d, *x), both_signs(d, *y), name=f"{NAMES[d]}_{len(x)}_{len(y)}_{mode}", **more)
        for x, y in [(F32, I64), (I32, F32), (F16, F32), (U8, I8), (I16, I64), (BOOL, I32)]:
            add(f"aten.{op}", T(x, 2, 3), both_signs(y, 3), name=f"{NAMES[x]}_{NAMES[y]}_{mode}", **more)
        add(f"aten.{op}", T(F32, 60, specials=SPECIALS), T(F32, 60, specials=SPECIALS), name=f"specials_{mode}", **more)
        add(f"aten.{op}", T(F64, 60, specials=SPECIALS), T(F64, 60, specials=SPECIALS), name=f"specials64_{mode}", **more)
        add(
            f"aten.{op}",
            T(I64, 4, values=[2**53 + 1, -(2**53) - 3, 2**60 + 1, -(2**60) - 1]),
            T(I64, 4, values=[3, 5, -7, 11]),
            name=f"large_{mode}",
            **more,
        )
        add(f"aten.{op}", T(F32, 4, values=[1.0, 0.9, 7.2, -1.0]), T(F32, 4, values=[0.1, 0.3, 0.9, 0.1]), name=f"exact_{mode}", **more)
        for d in [F32, I32]:
            add(f"aten.{op}", T(d, "s0", 3), both_signs(d, 3), where={"s0": (1, 5)}, name=f"{NAMES[d]}_dynamic_{mode}", **more)
            add(f"aten.{op}", T(d, 2, 3, 2, 2, order="cl"), both_signs(d, 3, 1, 1), name=f"{NAMES[d]}_cl_{mode}", **more)
    for op in ["floor_divide.Scalar", "remainder.Scalar", "fmod.Scalar", "div.Scalar_mode:floor", "div.Scalar_mode:trunc"]:
        op, _, mode = op.partition(":")
        more = {"rounding_mode": mode} if mode else {}
        for d in FLOATS + INTS:
            for n in [3, -2, 2.5]:
                if n == -2 and d == U8: continue
                add(f"aten.{op}", T(d, 2, 6), n, name=f"{NAMES[d]}_{n}_{mode}", **more)
        add(f"aten.{op}", T(F32, "s0", 6), 3, where={"s0": (1, 4)}, name=f"dynamic_{mode}", **more)
        add(f"aten.{op}", T(I32, 2, 3, 2, 2, order="cl"), 3, name=f"cl_{mode}", **more)
    for d in [F32, F16, I64]: add("aten.remainder.Scalar_Tensor", 7, both_signs(d, 6))
    add("aten.floor_divide", T(I64, 2, 3), 2, name="number", torch_fn=torch.floor_divide)
    for d in [F32, I32]:
        for op in ["floor_divide_.Tensor", "remainder_.Tensor", "fmod_.Tensor"]: add(f"aten.{op}", T(d, 2, 3), both_signs(d, 3))
        for op in ["floor_divide_.Scalar", "remainder_.Scalar", "fmod_.Scalar"]: add(f"aten.{op}", T(d, 2, 3), 3)
        for op in ["div_", "divide_"]:
            add(f"aten.{op}.Tensor_mode", T(d, 2, 3), both_signs(d, 3), rounding_mode="floor")
            add(f"aten.{op}.Scalar_mode", T(d, 2, 3), 2, rounding_mode="trunc")
        add("aten.divide.Tensor_mode", T(d, 2, 3), both_signs(d, 3), rounding_mode="floor")
        add("aten.divide.Scalar_mode", T(d, 2, 3), 2, rounding_mode="trunc")

    loose = lambda d: {"tol": (1e-5, 1e-6)} if d == F32 else {"tol": 1e-2} if d in (F16, BF16) else {}
    for d in FLOATS:
        for e in [0, 1, 2, 3, 4, -1, -2, 0.5, -0.5, 1.5, 2.0, 3.0, -1.5]:
            add("aten.pow.Tensor_Scalar", T(d, 2, 4, low=0.25, high=3), e, name=f"{NAMES[d]}_{e}", **loose(d))
        add("aten.pow.Tensor_Tensor", T(d, 2, 6, low=0.25, high=3), T(d, 6, low=-2, high=2), **loose(d))
        for n in [2, 0.5, 1]: add("aten.pow.Scalar", n, T(d, 6), name=f"{NAMES[d]}_{n}", **loose(d))
    for e in [2, 3, 0.5, -1]:
        add("aten.pow.Tensor_Scalar", T(F32, 20, specials=SPECIALS), e, name=f"specials_{e}", tol=1e-5)
        for d in [I64, BOOL]: add("aten.pow.Tensor_Scalar", T(d, 2, 3, low=0 if d == BOOL else 1), e, name=f"{NAMES[d]}_{e}", tol=1e-5)
    for d in INTS:
        for e in [0, 1, 2, 5, 13]: add("aten.pow.Tensor_Scalar", T(d, 2, 6), e, name=f"{NAMES[d]}_{e}")
        add("aten.pow.Tensor_Scalar", T(d, 2, 6, low=1), 1.5, name=f"{NAMES[d]}_1.5", tol=1e-5)
        add("aten.pow.Tensor_Tensor", T(d, 2, 12), T(d, 12, low=0, high=9))
        add("aten.pow.Scalar", 3, T(d, 6, low=0, high=5))
    add("aten.pow.Tensor_Tensor", T(I64, 60), T(I64, 60, low=-3, high=80), name="i64_any")
    add("aten.pow.Tensor_Tensor", T(I32, 60, low=-2, high=2), T(I32, 60, low=-3, high=200), name="i32_any")
    add("aten.pow.Tensor_Tensor", T(I64, 2, 3), T(F32, 3, low=0, high=2), tol=1e-5)
    add("aten.pow.Tensor_Tensor", T(F32, 2, 3, low=0.5), T(I64, 3), tol=1e-5)
    add("aten.pow.Scalar", 2.5, T(I32, 6, low=-3, high=5), tol=1e-5)
    add("aten.pow.Tensor_Scalar", T(F32, "s0", 3), 2, where={"s0": (1, 5)})
    add("aten.pow.Tensor_Scalar", T(F32, 2, 3, 2, 2, order="cl"), 2)
    add("aten.pow_.Scalar", T(F32, 2, 3), 2)
    add("aten.pow_.Tensor", T(F32, 2, 3, low=0.5), T(F32, 3), tol=1e-5)
    for d in [F32, I64, F16]:
        add("aten.float_power.Tensor_Tensor", T(d, 2, 3, low=1), T(d, 3))
        add("aten.float_power.Tensor_Scalar", T(d, 2, 3, low=1), 1.5)
        add("aten.float_power.Scalar", 2, T(d, 2, 3))
    add("aten.float_power_.Scalar", T(F64, 2, 3), 2)
    add("aten.float_power_.Tensor", T(F64, 2, 3, low=1), T(F64, 3))
    for d in ALL: add("aten.square", T(d, 2, 3))
    add("aten.square_", T(F32, 2, 3))

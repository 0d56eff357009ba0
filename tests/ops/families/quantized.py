"""quantized_decomposed and torchao's affine operators."""
from opcases import *
from torch.ao.quantization.fx import _decomposed  # noqa: F401: registers the operators

RANGES = {I8: (-128, 127), U8: (0, 255), I16: (-32768, 32767), I32: (-2**31, 2**31 - 1)}
Q = "quantized_decomposed."


def embedding(weight, scales, zeros, low, high, indices, dtype=None, packed=1):
    if packed == 2: weight = torch.stack([(weight >> 4).to(I8) - 8, (weight & 15).to(I8) - 8], -1).flatten(1)
    if packed == 4: weight = torch.stack([((weight >> (2 * k)) & 3).to(I8) - 2 for k in range(4)], -1).flatten(1)
    groups = scales.shape[1] if scales.dim() == 2 else 1
    w = weight.to(scales.dtype).reshape(weight.shape[0], groups, -1)
    s = scales.reshape(weight.shape[0], groups, 1)
    w = (w - (zeros.reshape(s.shape) if zeros is not None else 0)) * s
    return w.reshape(weight.shape).to(dtype or scales.dtype)[indices.long()]


def cases(add):
    for d, (low, high) in RANGES.items():
        zero = {U8: 100, I8: -3}.get(d, 7)
        for x in [F32, F16, BF16]: add(Q + "quantize_per_tensor", T(x, 3, 8), 0.0371, zero, low, high, d)
        add(
            Q + "quantize_per_tensor",
            T(F32, 30, low=-900, high=900, den=2),
            0.51,
            zero,
            max(low, -100),
            min(high, 100) if d != U8 else 250,
            d,
            name=f"{NAMES[d]}_clamped",
        )
        for o in [None, F32, F16, BF16]:
            bound = T(d, 3, 8, low=max(low, -120), high=min(high, 120))
            add(
                Q + "dequantize_per_tensor",
                bound,
                0.0371,
                zero,
                low,
                high,
                d,
                name=f"{NAMES[d]}_{NAMES.get(o)}",
                **({"out_dtype": o} if o else {}),
            )
        for shape in [(), (0, 3), (2, 1, 2, 1, 2)]:
            add(Q + "quantize_per_tensor", T(F32, *shape), 0.1, zero, low, high, d)
            add(Q + "dequantize_per_tensor", T(d, *shape), 0.1, zero, low, high, d)
        add(Q + "quantize_per_tensor", T(F32, 2, 3, 2, 2, order="cl"), 0.1, zero, low, high, d)
        add(Q + "dequantize_per_tensor", T(d, 2, 3, 2, 2, order="cl"), 0.1, zero, low, high, d)
        add(Q + "quantize_per_tensor", T(F32, "s0", 3), 0.1, zero, low, high, d, where={"s0": (1, 5)})
        add(Q + "dequantize_per_tensor", T(d, "s0", 3), 0.1, zero, low, high, d, where={"s0": (1, 5)})
        for sd, zd in [(F64, I64), (F32, I32)]:
            scale, point = T(sd, 1, values=[0.0371]), T(zd, 1, values=[zero])
            add(Q + "quantize_per_tensor.tensor", T(F32, 3, 8), scale, point, low, high, d, name=f"{NAMES[d]}_{NAMES[sd]}")
            add(Q + "dequantize_per_tensor.tensor", T(d, 3, 8), scale, point, low, high, d, name=f"{NAMES[d]}_{NAMES[sd]}")
        if d != I32:
            a = [T(F32, values=[0.0371]), T(I64, values=[zero]), T(I64, values=[low]), T(I64, values=[high]), d]
            add(Q + "quantize_per_tensor.tensor2", T(F32, 3, 8), *a)
            add(Q + "dequantize_per_tensor.tensor2", T(d, 3, 8), *a)
        for axis, shape in [(0, (3, 4)), (1, (2, 3, 2)), (-1, (2, 3)), (0, (3,)), (1, (1, 3, 2, 2))]:
            scales, points = T(F32, 3, values=[0.0371, 0.1103, 0.2307]), T(I64, 3, values=[0, 1, 2])
            (
                add(
                    Q + "quantize_per_channel",
                    T(F32, *shape),
                    scales,
                    points,
                    axis,
                    low,
                    high,
                    d,
                    name=f"{NAMES[d]}_axis{axis}_{len(shape)}",
                )
                if axis >= 0
                else None
            )
            add(Q + "dequantize_per_channel", T(d, *shape), scales, points, axis, low, high, d, name=f"{NAMES[d]}_axis{axis}_{len(shape)}")
        for sd, zd in [(F64, I32), (F32, I32)]:
            scales, points = T(sd, 3, values=[0.0371, 0.1103, 0.2307]), T(zd, 3, values=[0, 1, 2])
            add(Q + "quantize_per_channel", T(F16, 3, 4), scales, points, 0, low, high, d, name=f"{NAMES[d]}_{NAMES[sd]}")
            add(Q + "dequantize_per_channel", T(d, 3, 4), scales, points, 0, low, high, d, name=f"{NAMES[d]}_{NAMES[sd]}")
        add(
            Q + "dequantize_per_channel",
            T(d, 3, 4),
            T(F32, 3, values=[0.0371, 0.1103, 0.2307]),
            None,
            0,
            low,
            high,
            d,
            name=f"{NAMES[d]}_no_zeros",
        )
        add(
            Q + "dequantize_per_channel",
            T(d, 3, 4),
            T(F32, 3, values=[0.0371, 0.1103, 0.2307]),
            None,
            0,
            low,
            high,
            d,
            out_dtype=F16,
            name=f"{NAMES[d]}_f16",
        )
    token = lambda d, *s: [T(d, *s), T(F64, *s[:-1], 1, low=0.05, high=0.5, den=1009), T(I64, *s[:-1], 1)]
    for shape in [(4,), (3, 4), (2, 3, 4), ("s0", 3, 4)]:
        more = {"where": {"s0": (1, 4)}} if "s0" in shape else {}
        for d in [F32, F16, BF16] if shape == (3, 4) else [F32]: add(Q + "quantize_per_token", *token(d, *shape), -128, 127, I8, **more)
        for o in [F32, F16, BF16] if shape == (3, 4) else [F32]:
            add(
                Q + "dequantize_per_token",
                *token(I8, *shape),
                -128,
                127,
                I8,
                o,
                name=f"{len(shape)}_{NAMES[o]}_{bool(more)}",
                tol=1e-2 if o != F32 else None,
                **more,
            )
        for d in [F32, F16, BF16] if shape == (3, 4) else [F32]:
            loose = {"tol": 1e-2} if d != F32 else {}
            as_traced = lambda x, t, n: [v.to(o) for v, o in zip(torch_op(Q + n)(x.float() if x.dtype != F32 else x, t), [F64, I64])]
            for n in ["choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl", "choose_qparams_per_token"]:
                add(Q + n, T(d, *shape), I8, torch_fn=lambda x, t, n=n: as_traced(x, t, n), **loose, **more)
    for d in [F32, F16, BF16]:
        for eps in [1e-7, 0.25]:
            for t in [I8, U8]:
                low, high = RANGES[t]
                traced = lambda n: lambda x, *a: torch_op(Q + n)(x.float(), *a)
                for n in ["choose_qparams.tensor", "choose_qparams_symmetric.tensor"]:
                    add(Q + n, T(d, 3, 7), low, high, eps, t, torch_fn=traced(n), name=f"{NAMES[d]}_{NAMES[t]}_{eps}")
                    add(
                        Q + n,
                        T(d, 3, 7, low=1, high=3),
                        low,
                        high,
                        eps,
                        t,
                        torch_fn=traced(n),
                        name=f"{NAMES[d]}_{NAMES[t]}_{eps}_positive",
                    )
    add(Q + "choose_qparams.tensor", T(F32, "s0", 3), -128, 127, 1e-6, I8, where={"s0": (1, 5)})
    for d in [F32]:
        add(
            Q + "quantize_per_channel_group",
            T(d, 3, 8),
            T(F32, 3, 2, low=0.05, high=0.5, den=1009),
            T(F32, 3, 2, low=-3, high=3, den=1),
            -8,
            7,
            I8,
            4,
        )
    add(
        Q + "dequantize_per_channel_group",
        T(I8, 3, 8),
        T(F32, 3, 2, low=0.05, high=0.5, den=1009),
        T(F32, 3, 2, low=-3, high=3, den=1),
        -8,
        7,
        I8,
        4,
        F32,
    )
    add(Q + "dequantize_per_channel_group", T(I8, 3, 8), T(F32, 3, 2, low=0.05, high=0.5, den=1009), None, -8, 7, I8, 4, F16)
    add(Q + "fake_quant_per_channel", T(F32, 3, 4), T(F32, 3, low=0.05, high=0.5, den=1009), T(I64, 3), 0, -128, 127,
        torch_fn=lambda x, s, z, a, lo, hi: ((x / s[:, None]).round() + z[:, None]).clamp(lo, hi).sub(z[:, None]).mul(s[:, None]))
    for a, b in [(F32, F16), (F16, F32), (I32, F32)]: add(Q + "convert_element_type.no_fuse", T(a, 2, 3), b)

    for name, packed, table in [
        ("embedding_byte", 1, T(I8, 6, 8)),
        ("embedding_byte", 1, T(U8, 6, 8)),
        ("embedding_4bit", 2, T(U8, 6, 4, high=255)),
        ("embedding_2bit", 4, T(U8, 6, 2, high=255)),
    ]:
        fn = lambda *a, p=packed, **k: embedding(*a, packed=p, **k)
        low, high = {1: (-128, 127), 2: (-8, 7), 4: (-2, 1)}[packed]
        for sd in [F32, F16, BF16]:
            for groups in [(6,), (6, 2)]:
                for zeros in [True, False]:
                    if zeros and packed > 1: continue
                    scales, points = T(sd, *groups, low=0.25, high=2), T(sd, *groups, low=-3, high=3, den=1) if zeros else None
                    for i in [T(I64, 3, low=0, high=5), T(I32, 2, 2, low=0, high=5)]:
                        label = f"{NAMES[table.dtype]}_{NAMES[sd]}_{len(groups)}_{zeros}_{NAMES[i.dtype]}"
                        add(Q + name, table, scales, points, low, high, i, torch_fn=fn, name=label, tol=1e-2 if sd != F32 else None)
                        for o in [F32, F16]:
                            add(
                                Q + name + ".dtype",
                                table,
                                scales,
                                points,
                                low,
                                high,
                                i,
                                dtype=o,
                                torch_fn=fn,
                                name=f"{label}_{NAMES[o]}",
                                tol=1e-2 if F32 != sd or o != F32 else None,
                            )
        add(
            Q + name,
            table,
            T(F32, 6, low=0.25, high=2),
            None,
            low,
            high,
            T(I64, "s0", low=0, high=5),
            torch_fn=fn,
            where={"s0": (1, 4)},
            name="dynamic",
        )
    qadd = (
        lambda a, s, z, l, h, b, t, y, m, n, o, p, q, r: (((a.float() - z) * s + (b.float() - y) * t) * (1 / o))
        .round()
        .add(p)
        .clamp(q, r)
        .to(a.dtype)
    )
    add(Q + "add", T(U8, 3, 4, high=255), 0.11, 3, 0, 255, T(U8, 3, 4, high=255), 0.07, 5, 0, 255, 0.23, 2, 0, 255, torch_fn=qadd)

    try:
        import torchao.quantization.quant_primitives  # noqa: F401: registers the operators
    except ImportError:
        return
    A = "torchao."
    for block, sizes in [([1, 8], (3, 1)), ([1, 4], (3, 2)), ([3, 8], (1, 1)), ([3, 2], (1, 4))]:
        label = "x".join(map(str, block))
        for d in [F32, F16, BF16]:
            loose = {"tol": 1e-2} if d != F32 else {}
            for mapping in ["SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"]:
                for keep in [False, True]:
                    add(
                        A + "choose_qparams_affine",
                        T(d, 3, 8),
                        mapping,
                        block,
                        I8,
                        -128,
                        127,
                        zero_point_dtype=I8 if mapping == "ASYMMETRIC" else I32,
                        keepdim=keep,
                        name=f"{label}_{NAMES[d]}_{mapping}_{keep}",
                        tol=(2e-2, 1.01) if d != F32 else None,
                    )
            (
                add(
                    A + "quantize_affine",
                    T(d, 3, 8),
                    block,
                    T(d, *sizes, low=0.0625, high=0.5, values=None),
                    T(I8, *sizes),
                    I8,
                    -128,
                    127,
                    name=f"{label}_{NAMES[d]}",
                )
                if d == F32
                else None
            )
            add(
                A + "dequantize_affine",
                T(I8, 3, 8),
                block,
                T(F32, *sizes, low=0.0625, high=0.5),
                T(I8, *sizes),
                I8,
                -128,
                127,
                output_dtype=d,
                name=f"{label}_{NAMES[d]}",
                **loose,
            )
        add(A + "dequantize_affine", T(I8, 3, 8), block, T(F32, *sizes, low=0.0625, high=0.5), None, I8, -8, 7, name=f"{label}_no_zeros")
    add(A + "choose_qparams_affine", T(F32, 3, 8), "ASYMMETRIC", [1, 8], U8, eps=0.1, scale_dtype=F32, zero_point_dtype=I64, name="eps")
    dyn = dict(where={"s0": (1, 5)})
    add(A + "choose_qparams_affine", T(F32, "s0", 8), "ASYMMETRIC", [1, 8], I8, -128, 127, zero_point_dtype=I8, name="dynamic", **dyn)
    add(A + "quantize_affine", T(F32, "s0", 8), [1, 4], T(F32, "s0", 2, low=0.0625, high=0.5), T(I8, "s0", 2), I8, name="dynamic", **dyn)
    add(A + "dequantize_affine", T(I8, "s0", 8), [1, 4], T(F32, "s0", 2, low=0.0625, high=0.5), T(I8, "s0", 2), I8, name="dynamic", **dyn)

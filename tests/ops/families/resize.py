from opcases import *

TOL = {"tol": (1e-5, 1e-5)}
DYN = {"where": {"s0": (1, 3)}}


def cases(add):
    size = {1: (5,), 2: (4, 5), 3: (3, 4, 2)}
    for n, linear in [(1, "linear1d"), (2, "bilinear2d"), (3, "trilinear3d")]:
        dims = size[n]
        modes = [(f"upsample_nearest{n}d", False), (f"_upsample_nearest_exact{n}d", False), (f"upsample_{linear}", True)]
        if n == 2: modes += [("upsample_bicubic2d", True), ("_upsample_bilinear2d_aa", True), ("_upsample_bicubic2d_aa", True)]
        for op, corners in modes:
            for c in ([False, True] if corners else [None]):
                a = [] if c is None else [c]
                for out in [[2 * s for s in dims], [s + 1 for s in dims], [max(s - 2, 1) for s in dims], [1] * n, list(dims)]:
                    add(f"aten.{op}", T(F32, 2, 3, *dims), out, *a, name=f"{c}_{'x'.join(map(str, out))}", **TOL)
                for f in [2.0, 0.5, 1.7]: add(f"aten.{op}.vec", T(F32, 2, 3, *dims), None, *a, [f] * n, name=f"{c}_{f}", **TOL)
                add(f"aten.{op}.vec", T(F32, 2, 3, *dims), [2 * s for s in dims], *a, None, name=f"{c}_size", **TOL)
                add(f"aten.{op}.vec", T(F32, "s0", 3, *dims), None, *a, [2.0] * n, name=f"{c}_dynamic", **TOL, **DYN)
            for d in [F64, F16, BF16]:
                loose = {F64: 1e-12, F16: (1e-2, 1e-2), BF16: (4e-2, 4e-2)}[d]
                add(f"aten.{op}", T(d, 2, 3, *dims), [2 * s for s in dims], *([False] if corners else []), name=NAMES[d], tol=loose)
        for op, corners in modes:
            for c in ([False, True] if corners else []):
                add(f"aten.{op}", T(F64, 1, 2, *dims), [s + 1 for s in dims], c, name=f"f64_{c}")
                add(f"aten.{op}.vec", T(F64, 1, 2, *dims), None, c, [1.7] * n, name=f"f64_{c}_scaled")
        if n == 2:
            for op, corners in modes:
                add(f"aten.{op}", T(F32, 2, 3, *dims, order="cl"), [8, 10], *([False] if corners else []), name="cl", **TOL)
    for d in [F32, F16, I64]:
        add("aten.pixel_shuffle", T(d, 2, 8, 3, 2), 2)
        add("aten.pixel_unshuffle", T(d, 2, 2, 4, 6), 2)
        add("aten.channel_shuffle", T(d, 2, 6, 2, 2), 3)
        add("aten.native_channel_shuffle", T(d, 2, 6, 2, 2), 3)
    add("aten.pixel_shuffle", T(F32, 8, 3, 2), 2, name="no_batch")
    add("aten.pixel_shuffle", T(F32, "s0", 8, 3, 2), 2, **DYN)
    add("aten.pixel_unshuffle", T(F32, "s0", 2, 4, 6), 2, **DYN)
    for k, dil, p, s in [([2, 2], [1, 1], [0, 0], [1, 1]), ([3, 2], [1, 1], [1, 1], [2, 2]), ([2, 2], [2, 1], [0, 1], [1, 2])]:
        label = f"{k[0]}{dil[0]}{p[0]}{s[0]}"
        add("aten.im2col", T(F32, 2, 3, 5, 6), k, dil, p, s, name=label)
        blocks = [(d + 2 * p[i] - dil[i] * (k[i] - 1) - 1) // s[i] + 1 for i, d in enumerate((5, 6))]
        add("aten.col2im", T(F32, 2, 3 * k[0] * k[1], blocks[0] * blocks[1]), [5, 6], k, dil, p, s, name=label, **TOL)
    for mode in [0, 1, 2]:
        for pad in [0, 1, 2]:
            for c in [False, True]:
                for op in ["grid_sampler", "grid_sampler_2d"]:
                    add(
                        f"aten.{op}",
                        T(F32, 2, 2, 4, 5),
                        T(F32, 2, 3, 3, 2, low=-1.25, high=1.25),
                        mode,
                        pad,
                        c,
                        name=f"{mode}_{pad}_{c}",
                        tol=(1e-4, 1e-4),
                    )
    for c in [False, True]: add("aten.affine_grid_generator", T(F32, 2, 2, 3), [2, 1, 3, 4], c, name=f"{c}", **TOL)

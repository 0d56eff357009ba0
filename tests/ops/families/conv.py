from opcases import *
from families.reduce import tol

TOL = {F32: (1e-5, 5e-5), F64: (1e-10, 1e-10), F16: (1e-2, 2e-2), BF16: (4e-2, 8e-2)}


def cases(add):
    size = {1: (7,), 2: (6, 5), 3: (4, 3, 4)}
    for n in [1, 2, 3]:
        op, ones, dims = f"aten.conv{n}d", [1] * n, size[n]
        kernel = (3, 2, 2)[:n]
        for d in FLOATS:
            for bias in [True, False]:
                add(op, T(d, 2, 4, *dims), T(d, 6, 4, *kernel), T(d, 6) if bias else None, name=f"{NAMES[d]}_{bias}", tol=TOL[d])
        for label, k in {
            "stride": dict(stride=[2] * n),
            "padding": dict(padding=[1] * n),
            "dilation": dict(dilation=[2] * n, padding=[2] * n),
            "groups": dict(groups=2),
            "all": dict(stride=[2] * n, padding=[1] * n, dilation=[1] * n, groups=2),
            "single": dict(stride=[2], padding=[1]),
        }.items():
            add(op, T(F32, 2, 4, *dims), T(F32, 6, 4 // k.get("groups", 1), *kernel), T(F32, 6), name=label, tol=TOL[F32], **k)
        add(op, T(F32, 2, 4, *dims), T(F32, 4, 1, *kernel), T(F32, 4), groups=4, padding=ones, name="depthwise", tol=TOL[F32])
        add(op, T(F32, 2, 4, *dims), T(F32, 8, 1, *kernel), None, groups=4, name="depthwise2", tol=TOL[F32])
        add(op, T(F32, 2, 4, *dims), T(F32, 6, 4, *ones), T(F32, 6), name="pointwise", tol=TOL[F32])
        add(op, T(F32, 4, *dims), T(F32, 6, 4, *kernel), T(F32, 6), name="no_batch", tol=TOL[F32])
        add(op, T(F32, 2, 4, *dims), T(F32, 6, 4, *kernel, weight=True), T(F32, 6, weight=True), name="constants", tol=TOL[F32])
        add(op, T(F32, "s0", 4, *dims), T(F32, 6, 4, *kernel), T(F32, 6), where={"s0": (1, 3)}, name="dynamic_batch", tol=TOL[F32])
        add(
            op,
            T(F32, 2, 4, *dims[:-1], "s0"),
            T(F32, 6, 4, *kernel),
            T(F32, 6),
            stride=[2] * n,
            padding=ones,
            where={"s0": (4, 9)},
            name="dynamic_size",
            tol=TOL[F32],
        )
        for p in ["same", "valid"]:
            for k in [(3,) * n, (2,) * n]:
                add(f"{op}.padding", T(F32, 2, 4, *dims), T(F32, 6, 4, *k), T(F32, 6), padding=p, name=f"{p}_{k[0]}", tol=TOL[F32])
        add(
            f"{op}.padding",
            T(F32, 2, 4, *dims),
            T(F32, 6, 2, *kernel),
            None,
            padding="same",
            dilation=[2] * n,
            groups=2,
            name="same_dilated",
            tol=TOL[F32],
        )
        t = f"aten.conv_transpose{n}d" + ("" if n == 1 else ".input")
        for d in FLOATS: add(t, T(d, 2, 4, *dims), T(d, 4, 6, *kernel), T(d, 6), name=NAMES[d], tol=TOL[d])
        for label, k in {
            "stride": dict(stride=[2] * n),
            "padding": dict(padding=ones, stride=[2] * n),
            "output": dict(stride=[2] * n, output_padding=ones),
            "dilation": dict(dilation=[2] * n),
            "groups": dict(groups=2),
            "all": dict(stride=[3] * n, padding=ones, output_padding=ones, groups=2),
        }.items():
            add(t, T(F32, 2, 4, *dims), T(F32, 4, 6 // k.get("groups", 1), *kernel), T(F32, 6), name=label, tol=TOL[F32], **k)
        add(t, T(F32, 4, *dims), T(F32, 4, 6, *kernel), name="no_batch", tol=TOL[F32])
        add(
            t,
            T(F32, "s0", 4, *dims),
            T(F32, 4, 6, *kernel),
            T(F32, 6),
            stride=[2] * n,
            where={"s0": (1, 3)},
            name="dynamic_batch",
            tol=TOL[F32],
        )
        add(
            t,
            T(F32, 1, 4, *dims[:-1], "s0"),
            T(F32, 4, 6, *kernel),
            T(F32, 6),
            stride=[2] * n,
            where={"s0": (2, 5)},
            name="dynamic_size",
            tol=TOL[F32],
        )
        for transposed in [False, True]:
            w = (4, 6) if transposed else (6, 4)
            add(
                "aten.convolution",
                T(F32, 2, 4, *dims),
                T(F32, *w, *kernel),
                T(F32, 6),
                [2] * n,
                ones,
                ones,
                transposed,
                [0] * n,
                1,
                name=f"{n}_{transposed}",
                tol=TOL[F32],
            )
    x, w = T(F32, 2, 4, 6, 5, order="cl"), T(F32, 6, 4, 3, 2)
    add("aten.conv2d", x, w, T(F32, 6), name="cl", tol=TOL[F32])
    add("aten.conv2d", x, w(order="cl"), T(F32, 6), name="cl_both", tol=TOL[F32])
    add("aten.conv2d", x, w(order="cl", weight=False), T(F32, 6), padding=[1, 1], stride=[2, 2], name="cl_padded", tol=TOL[F32])
    add("aten.conv2d", x, T(F32, 4, 1, 3, 3), None, groups=4, name="cl_depthwise", tol=TOL[F32])
    add("aten.conv_transpose2d.input", x, T(F32, 4, 6, 3, 2), T(F32, 6), [2, 2], name="cl", tol=TOL[F32])
    add("aten.conv2d", T(F32, 0, 4, 3, 3), T(F32, 6, 4, 2, 2), name="no_batches", tol=TOL[F32])

from opcases import *
from families.reduce import tol

DYN = {"where": {"s0": (1, 4)}}


def cases(add):
    for d in FLOATS:
        for affine in [True, False]:
            w = [T(d, 4), T(d, 4)] if affine else [None, None]
            add("aten.layer_norm", T(d, 2, 3, 4), [4], *w, name=f"{NAMES[d]}_{affine}", **tol(d))
            add("aten.native_layer_norm", T(d, 2, 3, 4), [4], *w, 1e-5, name=f"{NAMES[d]}_{affine}", **tol(d))
            w = [T(d, 4), T(d, 4)] if affine else [None, None]
            add("aten.group_norm", T(d, 2, 4, 3), 2, *w, name=f"{NAMES[d]}_{affine}", **tol(d))
            add("aten.native_group_norm", T(d, 2, 4, 3), *w, 2, 4, 3, 2, 1e-5, name=f"{NAMES[d]}_{affine}", **tol(d))
            add("aten.instance_norm", T(d, 2, 4, 5), *w, None, None, True, 0.1, 1e-5, False, name=f"{NAMES[d]}_{affine}", **tol(d))
            bn = [*w, T(d, 4), T(d, 4, low=0.5, high=2)]
            add("aten.batch_norm", T(d, 2, 4, 3), *bn, False, 0.1, 1e-5, False, name=f"{NAMES[d]}_{affine}", **tol(d))
            add("aten._native_batch_norm_legit_no_training", T(d, 2, 4, 3), *bn, 0.1, 1e-5, name=f"{NAMES[d]}_{affine}",
                torch_fn=lambda *a: torch.ops.aten._native_batch_norm_legit_no_training(*a)[0], **tol(d))
        add("aten.rms_norm", T(d, 2, 3, 4), [4], T(d, 4), 1e-5, name=f"{NAMES[d]}", **tol(d))
        add("aten.rms_norm", T(d, 2, 3, 4), [4], name=f"{NAMES[d]}_plain", **tol(d))
    for shape, n in [((4,), [4]), ((2, 3, 4), [3, 4]), ((2, 1, 2, 3, 4), [3, 4]), ((0, 4), [4])]:
        add("aten.layer_norm", T(F32, *shape), n, T(F32, *n), T(F32, *n), name=f"{len(shape)}_{len(n)}", **tol(F32))
        add("aten.rms_norm", T(F32, *shape), n, T(F32, *n), name=f"{len(shape)}_{len(n)}", **tol(F32))
    add("aten.layer_norm", T(F32, 2, 4), [4], T(F32, 4), None, name="weight_only", **tol(F32))
    add("aten.layer_norm", T(F32, "s0", 3, 4), [4], T(F32, 4), T(F32, 4), **DYN, **tol(F32))
    add("aten.layer_norm", T(F32, 2, 4, 2, 5, order="cl"), [5], tol=(1e-4, 1e-4))
    for shape in [(2, 4), (2, 4, 3, 2), (1, 4, 2, 2, 2)]:
        loose = {"tol": 5e-3} if len(shape) == 2 else tol(F32)  # two values a group
        add("aten.group_norm", T(F32, *shape), 2, T(F32, 4), T(F32, 4), **loose)
        add(
            "aten.batch_norm",
            T(F32, *shape),
            T(F32, 4),
            T(F32, 4),
            T(F32, 4),
            T(F32, 4, low=0.5, high=2),
            False,
            0.1,
            1e-5,
            False,
            **tol(F32),
        )
        if len(shape) > 2: add("aten.instance_norm", T(F32, *shape), T(F32, 4), T(F32, 4), None, None, True, 0.1, 1e-5, False, **tol(F32))
    for d in ["cl"]:
        add(
            "aten.batch_norm",
            T(F32, 2, 4, 3, 2, order=d),
            T(F32, 4),
            T(F32, 4),
            T(F32, 4),
            T(F32, 4, low=0.5, high=2),
            False,
            0.1,
            1e-5,
            False,
            **tol(F32),
        )
        add("aten.group_norm", T(F32, 2, 4, 3, 2, order=d), 2, T(F32, 4), T(F32, 4), **tol(F32))
    add("aten.group_norm", T(F32, "s0", 4, 3), 2, T(F32, 4), T(F32, 4), **DYN, **tol(F32))
    add(
        "aten.batch_norm",
        T(F32, "s0", 4, 3),
        T(F32, 4),
        T(F32, 4),
        T(F32, 4),
        T(F32, 4, low=0.5, high=2),
        False,
        0.1,
        1e-5,
        False,
        **DYN,
        **tol(F32),
    )
    add("aten.instance_norm", T(F32, "s0", 4, 3), None, None, None, None, True, 0.1, 1e-5, False, **DYN, **tol(F32))
    for dim in [0, 1]:
        add("aten._weight_norm", T(F32, 3, 4), T(F32, 3 if dim == 0 else 1, 4 if dim == 1 else 1), dim, name=f"{dim}", **tol(F32))
    add("aten._weight_norm_interface", T(F32, 3, 4), T(F32, 3, 1), 0, **tol(F32))
    for d in FLOATS: add("aten._weight_norm_interface", T(d, 3, 4), T(d, 3, 1), 0, name=f"norm_{NAMES[d]}", tol={F16: 5e-3, BF16: 4e-2}.get(d, 1e-5))
    add("aten.native_layer_norm", T(F64, 2, 3, 300), [3, 300], T(F64, 3, 300), T(F64, 3, 300), 1e-5, name="f64_long")
    add("aten.layer_norm", T(F64, 4, 1000), [1000], name="f64_long")

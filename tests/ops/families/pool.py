from opcases import *
from families.reduce import tol


def cases(add):
    size = {1: (8,), 2: (7, 6), 3: (5, 4, 6)}
    for n in [1, 2, 3]:
        dims, two, one = size[n], [2] * n, [1] * n
        dyn = dict(where={"s0": (1, 3)})
        for d in FLOATS:
            add(f"aten.avg_pool{n}d", T(d, 2, 3, *dims), [3] * n, two, name=NAMES[d], **tol(d))
            add(f"aten.max_pool{n}d", T(d, 2, 3, *dims), [3] * n, two, name=NAMES[d])
            (
                add(f"aten.max_pool{n}d_with_indices", T(d, 2, 3, *dims, shuffled=True), [3] * n, two, name=NAMES[d])
                if d in (F32, F64)
                else None
            )
            add(f"aten.adaptive_avg_pool{n}d", T(d, 2, 3, *dims), [2] * n, name=NAMES[d], **tol(d))
        for label, a in {"default": (two,), "padded": ([3] * n, two, one), "ceil": ([3] * n, two, [0] * n, True), "single": ([3], [2], [1]),
                         "both": ([3] * n, two, one, True)}.items():
            add(f"aten.avg_pool{n}d", T(F32, 2, 3, *dims), *a, name=label, **tol(F32))
            add(
                f"aten.avg_pool{n}d",
                T(F32, 2, 3, *dims),
                *a,
                **({"count_include_pad": False} if len(a) > 2 else {}),
                name=f"{label}_without",
                **tol(F32),
            )
            m = a if len(a) < 4 else (*a[:3], one, a[3])
            add(f"aten.max_pool{n}d", T(F32, 2, 3, *dims), *m, name=label)
            add(f"aten.max_pool{n}d_with_indices", T(F32, 2, 3, *dims, shuffled=True), *m, name=label)
        if n > 1: add(f"aten.avg_pool{n}d", T(F32, 2, 3, *dims), two, divisor_override=3, name="divisor", **tol(F32))
        add(f"aten.max_pool{n}d", T(F32, 2, 3, *dims), two, two, [0] * n, [2] * n, name="dilated")
        for op in ["avg_pool", "max_pool"]:
            add(f"aten.{op}{n}d", T(F32, 3, *dims), two, name="no_batch", **tol(F32))
            add(f"aten.{op}{n}d", T(F32, "s0", 3, *dims), two, name="dynamic_batch", **dyn, **tol(F32))
            add(f"aten.{op}{n}d", T(F32, 2, 3, *dims[:-1], "s0"), [3] * n, two, one, name="dynamic_size", where={"s0": (3, 8)}, **tol(F32))
        for out in [one, [3] * n, [4] * n, list(dims)]:
            add(f"aten.adaptive_avg_pool{n}d", T(F32, 2, 3, *dims), out, name="x".join(map(str, out)), **tol(F32))
            add(f"aten.adaptive_max_pool{n}d", T(F32, 2, 3, *dims, shuffled=True), out, name="x".join(map(str, out)))
            if n > 1: add(f"aten._adaptive_avg_pool{n}d", T(F32, 2, 3, *dims), out, name="x".join(map(str, out)), **tol(F32))
        add(f"aten.adaptive_avg_pool{n}d", T(F32, 3, *dims), two, name="no_batch", **tol(F32))
        add(f"aten.adaptive_avg_pool{n}d", T(F32, "s0", 3, *dims), two, name="dynamic_batch", **dyn, **tol(F32))
        add(f"aten.adaptive_avg_pool{n}d", T(F32, 2, 3, *dims[:-1], "s0"), one, name="dynamic_size", where={"s0": (3, 8)}, **tol(F32))
    for op, a in [
        ("avg_pool2d", ([2, 2],)),
        ("max_pool2d", ([3, 3], [2, 2], [1, 1])),
        ("adaptive_avg_pool2d", ([1, 1],)),
        ("adaptive_avg_pool2d", ([2, 3],)),
        ("adaptive_max_pool2d", ([2, 3],)),
    ]:
        add(f"aten.{op}", T(F32, 2, 3, 7, 6, order="cl", shuffled=True), *a, name=f"cl_{a[-1][-1]}", **tol(F32))
    for d in [I64, I32, I8, U8]: add("aten.max_pool2d", T(d, 2, 3, 6, 6), [2, 2], name=NAMES[d])
    add("aten.max_pool2d", T(F32, 1, 2, 6, 6, specials=[-math.inf, math.inf]), [3, 3], [2, 2], [1, 1], name="specials")

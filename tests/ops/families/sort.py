from opcases import *

DYN = {"where": {"s0": (2, 6)}}


def cases(add):
    x = lambda d, *s: T(d, *s, shuffled=True)
    for d in FLOATS + INTS:
        for down in [False, True]:
            n = f"{NAMES[d]}_{down}"
            add("aten.sort", x(d, 3, 5), 1, down, name=n)
            add("aten.argsort", x(d, 3, 5), 1, down, name=n)
            add("aten.topk", x(d, 3, 5), 2, 1, down, name=n)
        add("aten.kthvalue", x(d, 3, 5), 2, 1)
        add("aten.median.dim", x(d, 3, 5), 1)
        add("aten.median", x(d, 3, 5))
        add("aten.msort", x(d, 3, 5))
    for shape, dim in [((3, 4), 0), ((2, 3, 4), 1), ((2, 3, 4), -1), ((4,), 0), ((), 0), ((2, 0), 1), ((1, 2, 3, 1, 2), 2)]:
        n = f"{len(shape)}_{dim}"
        for down in [False, True]:
            add("aten.sort", x(F32, *shape), dim, down, name=f"{n}_{down}")
            add("aten.sort.stable", T(I32, *shape, low=0, high=3), stable=True, dim=dim, descending=down, name=f"{n}_{down}")
            add("aten.argsort.stable", T(I32, *shape, low=0, high=3), stable=True, dim=dim, descending=down, name=f"{n}_{down}")
        if 0 not in shape:
            for k in [1, shape[dim] if shape else 1]: add("aten.topk", x(F32, *shape), k, dim, name=f"{n}_{k}")
            for keep in [False, True]:
                add("aten.kthvalue", x(F32, *shape), 1, dim, keep, name=f"{n}_{keep}")
                add("aten.median.dim", x(F32, *shape), dim, keep, name=f"{n}_{keep}")
                add("aten.nanmedian.dim", x(F32, *shape), dim, keep, name=f"{n}_{keep}")
    for op in ["median", "nanmedian"]:
        add(f"aten.{op}", T(F32, 9, values=[3.0, math.nan, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0, 5.0]), name="nan")
        add(f"aten.{op}.dim", T(F32, 2, 4, values=[3.0, math.nan, 1.0, 4.0, 1.5, 9.0, 2.0, 6.0]), 1, name="nan")
    add("aten.sort", T(F32, 6, values=[3.0, math.nan, -math.inf, 4.0, math.inf, 1.0]), name="specials")
    add("aten.topk", T(F32, 6, values=[3.0, math.nan, -math.inf, 4.0, math.inf, 1.0]), 3, name="specials")
    for op in ["sort", "argsort"]:
        add(f"aten.{op}", x(F32, "s0", 3), 1, **DYN)
        add(f"aten.{op}", x(F32, "s0", 3), 0, name="dynamic_dim", **DYN)
    add("aten.topk", x(F32, "s0", 3), 2, 0, **DYN)

from opcases import *

INF, NAN = math.inf, math.nan
SHAPES = [((7,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 5), -2), ((), 0), ((0,), 0), ((2, 0), 0), ((1, 2, 1, 3, 2), 3)]


def cases(add):
    for d in FLOATS:
        add("aten.logcumsumexp", T(d, 3, 6), 1)
        add("aten.logcumsumexp", T(d, 2, 8, specials=[INF, -INF, NAN]), 1)
    for shape, dim in SHAPES: add("aten.logcumsumexp", T(F32, *shape, low=-30, high=30), dim)
    add("aten.logcumsumexp", T(F32, "s0", 3), 0, where={"s0": (1, 6)})
    for op in ("aten.cummax", "aten.cummin"):
        for d in ALL:
            add(op, T(d, 3, 9), 1)
            add(op, T(d, 4, 3, low=0, high=2, den=1), 0)
        for shape, dim in SHAPES: add(op, T(F32, *shape), dim)
        add(op, T(F32, 3, 8, specials=[INF, -INF, NAN]), -1)
        add(op, T(F32, "s0", 3), 0, where={"s0": (1, 6)})
        add(op, T(I64, 3, values=[-(2**63), 2**63 - 1, 0]), 0)
    for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
        for d in FLOATS + [I64, I32]:
            add(f"aten.{name}.dx", T(d, 3, 5))
            add(f"aten.{name}.x", T(d, 3, 5), T(d, 5))
        add(f"aten.{name}.dx", T(F32, 4, 3), dx=0.5, dim=0)
        add(f"aten.{name}.dx", T(F32, 1, 3), dim=0)
        add(f"aten.{name}.x", T(F32, 2, 3, 4), T(F32, 3), dim=1)
        add(f"aten.{name}.x", T(F32, 2, 3, 4), T(F32, 2, 3, 4), dim=-2)
        add(f"aten.{name}.x", T(F32, 3, 4), T(F32, 1, 4))
        add(f"aten.{name}.dx", T(F32, "s0", 4), dx=2, where={"s0": (1, 3)})
        add(f"aten.{name}.x", T(F32, 2, "s0"), T(F32, "s0"), where={"s0": (2, 5)})

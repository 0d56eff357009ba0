"""Factories. Random ones have no result to compare: those that give one value are here, the others only compile elsewhere."""
from opcases import *

DYN = {"where": {"s0": (1, 4)}}


def cases(add):
    for d in ALL:
        for op in ["zeros", "ones"]: add(f"aten.{op}", [2, 3], dtype=d, name=NAMES[d])
        add("aten.full", [2, 3], 1 if d == BOOL else 3, dtype=d, name=NAMES[d])
        add("aten.scalar_tensor", 1, dtype=d, name=NAMES[d])
        for op in ["zeros_like", "ones_like", "zero", "zero_"]: add(f"aten.{op}", T(d, 2, 3))
        add("aten.full_like", T(d, 2, 3), 1)
        for op in ["new_zeros", "new_ones"]: add(f"aten.{op}", T(d, 1), [2, 3])
        add("aten.new_full", T(d, 1), [2, 3], 1)
        for op in ["fill.Scalar", "fill_.Scalar"]: add(f"aten.{op}", T(d, 2, 3), 1)
        for op in ["fill.Tensor", "fill_.Tensor"]: add(f"aten.{op}", T(d, 2, 3), T(F32, den=1, low=1, high=3))
        if d != BOOL:
            add("aten.arange", 5, dtype=d, name=NAMES[d])
            add("aten.eye", 3, dtype=d, name=NAMES[d])
    for v in [1, 2.5, True]:
        add("aten.full", [2], v, name=f"{v}")
        add("aten.scalar_tensor", v, name=f"{v}")
    for s in [[], [0], [2, 1, 2, 1, 3]]:
        for op in ["zeros", "ones"]: add(f"aten.{op}", s, name=f"rank{len(s)}")
    for op in ["zeros_like", "ones_like", "new_zeros", "new_ones"]:
        a = [[3]] if op.startswith("new") else []
        add(f"aten.{op}", T(F32, 2, 3), *a, dtype=I64, name="dtype")
        add(f"aten.{op}", T(F32, "s0", 3), *([[Sym("s0"), 2]] if a else []), **DYN)
    add("aten.full_like", T(F32, "s0", 3), 2, **DYN)
    add("aten.full_like", T(I64, 2), 2.5, dtype=F32, name="dtype")
    add("aten.ones_like", T(F32, 2, 3, 2, 2, order="cl"))
    for a in [(5,), (0,), (4.5,)]: add("aten.arange", *a, name=f"{a[0]}")
    for a in [(2, 6), (-3, 3), (1.5, 4.0), (3, 3)]: add("aten.arange.start", *a, name=f"{a[0]}_{a[1]}")
    for a in [(1, 10, 3), (5, -5, -2), (0.0, 1.0, 0.25), (0, 7, 2.5), (0, 1, 0.1)]:
        add("aten.arange.start_step", *a, name="_".join(map(str, a)), tol=1e-6)
    for n, m in [(3, 4), (2, 0), (4, 2)]: add("aten.eye.m", n, m, name=f"{n}_{m}")
    for a in [(0, 1, 5), (-2.5, 3, 7), (3, 3, 1), (5, -5, 4), (0, 1, 0)]:
        add("aten.linspace", *a, name="_".join(map(str, a)), tol=1e-6)
        add("aten.logspace", *a, name="_".join(map(str, a)), tol=1e-5)
    add("aten.linspace", 0, 10, 4, dtype=F64, name="f64", tol=1e-9)
    add("aten.uniform", T(F32, 2, 3), 0.5, 0.5, name="constant")
    add("aten.bernoulli.p", T(F32, 2, 3), 1.0, name="ones")
    add("aten.bernoulli.p", T(F32, 2, 3), 0.0, name="zeros")
    add("aten.bernoulli", T(F32, 2, 3, low=1, high=1, den=1), name="ones")
    add("aten.native_dropout", T(F32, 2, 3), 0.5, False, name="eval")


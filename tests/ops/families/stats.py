from opcases import *

NAN = math.nan


def cases(add):
    quantiles(add)
    covariances(add)
    gradients(add)
    others(add)


def quantiles(add):
    for op in ("quantile", "nanquantile"):
        for way in ("linear", "lower", "higher", "midpoint", "nearest"):
            for d in (F32, F64):
                add(f"aten.{op}", T(d, 3, 5), T(d, 3, low=0, high=1), 1, interpolation=way)
                add(f"aten.{op}.scalar", T(d, 3, 5), 0.3, 0, interpolation=way)
                add(f"aten.{op}", T(d, 3, 5, specials=[NAN, 1.0]), T(d, values=[0.4]), 1, interpolation=way)
        for dim, keep in [(None, False), (None, True), (0, True), (-1, False), (1, True)]:
            add(f"aten.{op}", T(F32, 2, 3, 4), T(F32, 2, low=0, high=1), dim, keep)
            add(f"aten.{op}.scalar", T(F32, 2, 3, 4), 0.75, dim, keep)
        add(f"aten.{op}", T(F32, 6), T(F32, 3, values=[0.0, 0.5, 1.0]))
        add(f"aten.{op}", T(F32), T(F32, values=[0.5]))
        add(f"aten.{op}.scalar", T(F32, "s0", 3), 0.25, 0, where={"s0": (2, 6)})


def covariances(add):
    for d in (F32, F64, I64):
        tol = 1e-4 if d != F64 else 1e-9
        add("aten.cov", T(d, 3, 6), tol=tol)
        add("aten.cov", T(d, 5), tol=tol)
        add("aten.cov", T(d, 1, 5), correction=0, tol=tol)
        add("aten.corrcoef", T(d, 3, 6), tol=tol)
        add("aten.corrcoef", T(d, 6), tol=tol)
    add("aten.cov", T(F32, 3, 4), correction=0, fweights=T(I64, 4, low=1, high=3), tol=1e-4)
    add("aten.cov", T(F32, 3, 4), fweights=T(I64, 4, low=1, high=3), aweights=T(F32, 4, low=0.25), tol=1e-4)
    add("aten.cov", T(F32, 3, 4), aweights=T(F32, 4, low=0.25), tol=1e-4)
    add("aten.cov", T(F32, 3, "s0"), where={"s0": (3, 5)}, tol=1e-4)


def gradients(add):
    for order in (1, 2):
        for d in (F32, F64):
            add("aten.gradient.scalarint", T(d, 3, 5), dim=1, edge_order=order)
            add("aten.gradient.scalarint", T(d, 3, 5), spacing=0.5, edge_order=order)
            add("aten.gradient.array", T(d, 3, 5, 4), dim=[2, 0], edge_order=order)
            add("aten.gradient.scalararray", T(d, 3, 5), spacing=2, dim=[0, 1], edge_order=order)
            add("aten.gradient.scalarrayarray", T(d, 3, 5), spacing=[2.0, 0.5], dim=[1, 0], edge_order=order)
            add("aten.gradient.scalarrayint", T(d, 3, 5), spacing=[2.0], dim=-1, edge_order=order)
            x = T(d, 5, values=[0.0, 1.0, 1.5, 3.0, 4.0])
            add("aten.gradient.tensorarrayint", T(d, 3, 5), spacing=[x], dim=1, edge_order=order)
            add("aten.gradient.tensorarray", T(d, 3, 5), spacing=[x, T(d, 3, values=[0.0, 2.0, 3.0])], dim=[1, 0], edge_order=order)


def others(add):
    for d in FLOATS:
        for p in (1, 2, 3): add("aten.renorm", T(d, 3, 4), p, 0, 2.5, tol=1e-5 if d == F32 else None)
    add("aten.renorm", T(F32, 2, 3, 4), 2, -1, 1.0, tol=1e-5)
    add("aten.renorm_", T(F32, 3, 4), 2, 1, 1.0, tol=1e-5)
    for sizes in ([3, 4], [1, 4], [4], [1], [3, 1], [2, 3, 4], []): add("aten.sum_to_size", T(F32, 2, 3, 4), sizes)
    add("aten.sum_to_size", T(F32, "s0", 3), [1, 3], where={"s0": (1, 4)})
    for r in (0, 1, 2, 3):
        for again in (False, True): add("aten.combinations", T(F32, 5), r, again)
    add("aten.combinations", T(I64, 2), 3)
    for left in ("left", "right"):
        for first in (False, True): add("aten.pad_sequence", [T(F32, 3, 2), T(F32, 1, 2), T(F32, 4, 2)], first, 7.5, left)
    add("aten.pad_sequence", [T(I64, 2), T(I64, 5)])
    add("aten.pad_sequence", [T(F32, "s0", 2), T(F32, 4, 2)], where={"s0": (1, 6)})
    add("aten._euclidean_dist", T(F32, 3, 4), T(F32, 2, 4), tol=1e-4)

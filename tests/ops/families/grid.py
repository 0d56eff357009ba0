from opcases import *


def cases(add):
    for op in ("aten.grid_sampler", "aten.grid_sampler_3d"):
        for mode in (0, 1):
            for pad in (0, 1, 2):
                for align in (False, True):
                    add(op, T(F32, 2, 2, 3, 4, 5), T(F32, 2, 2, 3, 2, 3, low=-1.25, high=1.25), mode, pad, align, name=f"{mode}_{pad}_{align}", tol=1e-5)
        add(op, T(F64, 1, 1, 2, 3, 2), T(F64, 1, 2, 1, 2, 3, low=-1, high=1), 0, 0, False)
        add(op, T(F32, 1, 1, 1, 3, 2), T(F32, 1, 2, 1, 2, 3), 0, 2, True, name="one_deep", tol=1e-5)
        add(op, T(F32, "s0", 2, 3, 2, 3), T(F32, "s0", 2, 2, 2, 3, low=-1, high=1), 0, 0, True, where={"s0": (1, 3)}, tol=1e-5)

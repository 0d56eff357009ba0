from opcases import *


def cases(add):
    for d in ALL: add("aten.constant_pad_nd", T(d, 2, 3), [1, 2], 1)
    for shape, pads in [
        ((5,), [1, 2]),
        ((2, 3), [1, 0, 2, 1]),
        ((2, 3, 4), [0, 1]),
        ((2, 3, 4), [1, 1, 0, 2, 1, 0]),
        ((1, 2, 3, 2, 2), [1, 1, 1, 1]),
        ((2, 0), [1, 1]),
        ((2, 5), [-1, -2]),
        ((2, 5), [-1, 2, 1, -1]),
        ((2, 3), []),
    ]:
        add("aten.constant_pad_nd", T(F32, *shape), pads, 0.5, name=f"{len(shape)}_{'_'.join(map(str, pads))}")
        add("aten.pad", T(F32, *shape), pads, name=f"{len(shape)}_{'_'.join(map(str, pads))}")
    add("aten.constant_pad_nd", T(F32, "s0", 3), [1, 2, 1, 0], where={"s0": (1, 4)})
    add("aten.constant_pad_nd", T(F32, 2, 3, 2, 2, order="cl"), [1, 1, 1, 1])
    for n, dims, pads in [(1, (6,), [2, 3]), (2, (5, 6), [1, 2, 3, 1]), (3, (4, 3, 4), [1, 2, 1, 0, 2, 1])]:
        for mode, op in [("reflect", "reflection_pad"), ("replicate", "replication_pad")]:
            for d in FLOATS + [I64]: add(f"aten.{op}{n}d", T(d, 2, 3, *dims), pads)
            add(f"aten.{op}{n}d", T(F32, 3, *dims), pads, name="no_batch")
            add(f"aten.{op}{n}d", T(F32, "s0", 3, *dims), pads, where={"s0": (1, 3)})
            add(f"aten.{op}{n}d", T(F32, 2, 3, *dims[:-1], "s0"), pads, where={"s0": (4, 7)}, name="dynamic_size")
            add("aten.pad", T(F32, 2, 3, *dims), pads, mode, name=f"{mode}_{n}")
        add("aten.pad", T(F32, 2, 3, *dims), pads, "circular", name=f"circular_{n}")
    for op in ["reflection_pad2d", "replication_pad2d"]: add(f"aten.{op}", T(F32, 2, 3, 4, 4, order="cl"), [1, 1, 2, 1])

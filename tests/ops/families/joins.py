from opcases import *

DYN = {"where": {"s0": (1, 4)}}


def cases(add):
    for op in ["cat", "concat", "concatenate"]:
        for d in ALL: add(f"aten.{op}", [T(d, 2, 3), T(d, 1, 3)], 0)
        for shapes, dim in [
            ([(2, 3), (2, 1), (2, 0)], 1),
            ([(2, 3, 2), (2, 3, 1)], -1),
            ([(3,), (2,), (0,)], 0),
            ([(1, 2, 1, 3, 2)] * 3, 2),
            ([(0,), (2, 3)], 0),
            ([(2, 3)], 1),
        ]:
            add(f"aten.{op}", [T(F32, *s) for s in shapes], dim, name=f"{len(shapes)}_{len(shapes[0])}_{dim}")
        add(f"aten.{op}", [T(F32, 2, 3), T(I64, 1, 3)], 0, name="mixed")
        add(f"aten.{op}", [T(F16, 2, 3), T(F32, 1, 3)], 0, name="mixed_half")
        add(f"aten.{op}", [T(F32, "s0", 3), T(F32, 2, 3)], 0, **DYN)
        add(f"aten.{op}", [T(F32, 2, 3, 2, 2, order="cl"), T(F32, 2, 1, 2, 2, order="cl")], 1, name="cl")
    for d in ALL: add("aten.stack", [T(d, 2, 3), T(d, 2, 3)], 1)
    for shape, dim in [((), 0), ((3,), 0), ((3,), -1), ((2, 3), 2), ((1, 2, 3, 1), -2), ((0, 2), 1)]:
        add("aten.stack", [T(F32, *shape)] * 3, dim, name=f"{len(shape)}_{dim}")
    add("aten.stack", [T(F32, "s0", 3)] * 2, 1, **DYN)
    for op in ["hstack", "vstack", "dstack", "column_stack", "row_stack"]:
        for shape in [(), (3,), (2, 3), (2, 3, 2)]: add(f"aten.{op}", [T(F32, *shape)] * 2)
    add("aten.block_diag", [T(F32, 2, 3), T(F32, 1), T(F32, 2, 1), T(F32)])
    for op in ["atleast_1d", "atleast_2d", "atleast_3d"]:
        for shape in [(), (3,), (2, 3), (2, 3, 2)]: add(f"aten.{op}", T(F32, *shape))
        add(f"aten.{op}.Sequence", [T(F32), T(F32, 3)])
    for d in DTYPES:
        add("aten.repeat", T(d, 2, 3), [2, 1, 2])
        add("aten.flip", T(d, 2, 3), [0, 1])
        add("aten.roll", T(d, 2, 3), [1, -2], [0, 1])
        for op in ["tril", "triu"]: add(f"aten.{op}", T(d, 3, 4))
        add("aten.repeat_interleave.self_int", T(d, 2, 3), 2, 1)
        add("aten.diagonal", T(d, 3, 4))
        add("aten.unfold", T(d, 2, 7), 1, 3, 2)
    for r in [[2], [1, 1], [0, 2], [2, 1, 1, 3]]:
        for op in ["repeat", "tile"]: add(f"aten.{op}", T(F32, 3) if len(r) == 1 else T(F32, 2, 3), r, name="x".join(map(str, r)))
    add("aten.tile", T(F32, 2, 3), [2], name="fewer")
    for op in ["repeat", "tile"]: add(f"aten.{op}", T(F32, "s0", 3), [2, 1], **DYN)
    for n, dim in [(2, 0), (3, None), (1, -1)]: add("aten.repeat_interleave.self_int", T(F32, 2, 3), n, dim, name=f"{n}_{dim}")
    add("aten.repeat_interleave.self_int", T(F32, "s0", 3), 2, 0, **DYN)
    for dims in [[0], [1, 2], [-1], [0, 1, 2]]: add("aten.flip", T(F32, 2, 3, 4), dims, name="_".join(map(str, dims)))
    for op in ["flipud", "fliplr"]: add(f"aten.{op}", T(F32, 2, 3))
    add("aten.flip", T(F32, "s0", 3), [0], **DYN)
    add("aten.flip", T(F32, 2, 3, 2, 2, order="cl"), [1])
    for k, dims in [(1, [0, 1]), (2, [1, 0]), (3, [0, 1]), (-1, [1, 2]), (4, [0, 1])]:
        add("aten.rot90", T(F32, 2, 3, 4), k, dims, name=f"{k}_{dims[0]}")
    for s, d in [([1], []), ([2], [0]), ([-1, 5], [1, 2]), ([0], [1])]: add("aten.roll", T(F32, 2, 3, 4), s, d, name=f"{s[0]}_{len(d)}")
    add("aten.roll", T(F32, "s0", 3), [1], [0], **DYN)
    for op in ["tril", "triu"]:
        for k in [-1, 1, 5, -7]: add(f"aten.{op}", T(F32, 2, 3, 4), k, name=f"{k}")
        add(f"aten.{op}_", T(F32, 3, 4))
        add(f"aten.{op}", T(F32, "s0", "s0"), **DYN)
    for op in ["diagonal", "diagonal_copy"]:
        for o, a, b in [(0, 0, 1), (1, 0, 2), (-1, 1, 2), (1, -1, 0)]: add(f"aten.{op}", T(F32, 2, 3, 4), o, a, b, name=f"{o}_{a}_{b}")
    for o in [0, 1, -2]:
        add("aten.diag", T(F32, 3), o, name=f"v{o}")
        add("aten.diag", T(F32, 3, 4), o, name=f"m{o}")
        add("aten.diag_embed", T(F32, 2, 3), o, name=f"{o}")
    add("aten.diag_embed", T(F32, 2, 3), 0, 0, 2, name="dims")
    for op in ["unfold", "unfold_copy"]:
        for d, n, s in [(0, 2, 1), (1, 3, 1), (-1, 4, 3)]: add(f"aten.{op}", T(F32, 3, 4, 7), d, n, s, name=f"{d}_{n}_{s}")
        add(f"aten.{op}", T(F32, "s0", 7), 1, 3, 2, **DYN)
    for i in ["", ".indexing"]:
        for ij in ["ij", "xy"] if i else [None]:
            add(f"aten.meshgrid{i}", [T(F32, 2), T(F32, 3)], **({"indexing": ij} if ij else {}), name=f"{ij}")
            add(f"aten.meshgrid{i}", [T(F32, 2), T(F32, 3), T(F32)], **({"indexing": ij} if ij else {}), name=f"{ij}_3")
    for op in ["movedim", "moveaxis"]:
        for a, b in [(0, 2), (-1, 0), (1, 1)]: add(f"aten.{op}.int", T(F32, 2, 3, 4), a, b, name=f"{a}_{b}")
        add(f"aten.{op}.intlist", T(F32, 2, 3, 4), [0, 1], [2, 0])
    add("aten.ravel", T(F32, 2, 3))
    add("aten.broadcast_to", T(F32, 3, 1), [2, 3, 4])
    add("aten.broadcast_tensors", [T(F32, 3, 1), T(F32, 2, 1, 4)])
    for n, dim in [(2, 0), (3, 1), (4, -1)]: add("aten.tensor_split.sections", T(F32, 3, 5), n, dim, name=f"{n}_{dim}")
    for i, dim in [([1, 3], 1), ([2], 0), ([], 0), ([4, 2], 1)]:
        add("aten.tensor_split.indices", T(F32, 3, 5), i, dim, name=f"{len(i)}_{dim}")
    add("aten.unsafe_chunk", T(F32, 3, 5), 2, 1)
    add("aten.unsafe_split.Tensor", T(F32, 3, 5), 2, 1)
    add("aten.unsafe_split_with_sizes", T(F32, 3, 5), [2, 3], 1)
    for size, stride, o in [([2, 2], [3, 1], 0), ([3], [2], 1), ([2, 3], [0, 1], 2), ([], [], 4), ([2, 2, 2], [1, 1, 1], 0)]:
        for op in ["as_strided", "as_strided_copy"]: add(f"aten.{op}", T(F32, 3, 4), size, stride, o, name=f"{len(size)}_{o}")
    for op in ("hsplit", "vsplit", "dsplit"):
        add(f"aten.{op}.int", T(F32, 4, 6, 2), 2)
        add(f"aten.{op}.array", T(I64, 4, 6, 5), [1, 3])
        add(f"aten.{op}.array", T(F32, 3, 2, 4, 2), [-1, 5])
    add("aten.hsplit.int", T(F32, 6), 3)
    add("aten.hsplit.int", T(F32, "s0", 4), 2, where={"s0": (1, 3)})


DTYPES = [F32, F16, I64, U8, BOOL]

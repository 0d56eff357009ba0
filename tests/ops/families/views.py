from opcases import *

DTYPES = [F32, F16, I64, U8, BOOL]


def both(add, op, x, *args, **more):
    """The view of several dtypes."""
    for d in DTYPES:
        add(
            op,
            x(
                dtype=d,
                **(
                    {"low": 0, "high": 1, "den": 1}
                    if d == BOOL
                    else {"den": DENOMINATORS.get(d, 1), "low": 0 if d == U8 else -4, "high": 9}
                ),
            ),
            *args,
            **more,
        )


def cases(add):
    x = T(F32, 2, 3, 4)
    dyn, two = {"where": {"s0": (1, 5)}}, {"where": {"s0": (1, 5), "s1": (2, 3)}}
    for op in ["view", "reshape", "_unsafe_view", "view_copy"]:
        both(add, f"aten.{op}", x, [4, 6])
        for sizes in [[24], [-1], [2, -1], [1, 2, 3, 4, 1], [6, 4], [2, 3, 2, 2]]:
            add(f"aten.{op}", x, sizes, name="x".join(map(str, sizes)))
        add(f"aten.{op}", T(F32), [1, 1])
        add(f"aten.{op}", T(F32, 1), [])
        add(f"aten.{op}", T(F32, 0, 3), [3, 0, 2])
        add(f"aten.{op}", T(F32, "s0", 6), [Sym("2 * s0"), 3], **dyn)
        add(f"aten.{op}", T(F32, "s0", 6), [-1, 3], name="open", **dyn)
        add(f"aten.{op}", T(F32, "s0", "s1"), [Sym("s0 * s1")], **two)
    add("aten.reshape", T(F32, 2, 3, 2, 2, order="cl"), [2, 3, 4], name="cl")
    for op in ["view_as", "reshape_as"]: add(f"aten.{op}", x, T(F32, 6, 4))
    for a, b in [(0, -1), (1, 2), (0, 1), (-2, -1), (1, 1)]: add("aten.flatten.using_ints", x, a, b, name=f"{a}_{b}")
    add("aten.flatten.using_ints", T(F32))
    add("aten.flatten.using_ints", T(F32, "s0", 3, "s1"), 1, **two)
    for d, sizes in [(1, [3, 1]), (2, [2, 2]), (-1, [-1, 2]), (0, [1, 2, 1])]: add("aten.unflatten.int", x, d, sizes, name=f"{d}")
    for suffix in ["", "_copy", "_"]:
        for d in [0, 1, 3, -1]: add(f"aten.unsqueeze{suffix}", x, d, name=f"{d}")
        one = T(F32, 1, 3, 1, 2)
        add(f"aten.squeeze{suffix}", one)
        for d in [0, 1, 2, -2]: add(f"aten.squeeze{suffix}.dim", one, d, name=f"{d}")
        for d in [[0, 2], [0, 1], []]: add(f"aten.squeeze{suffix}.dims", one, d, name=f"{len(d)}_{sum(d)}")
        add(f"aten.t{suffix}", T(F32, 2, 3))
        add(f"aten.t{suffix}", T(F32, 3))
    both(add, "aten.permute", x, [2, 0, 1])
    for op in ["permute", "permute_copy"]:
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, -1, 1]]: add(f"aten.{op}", x, order, name="".join(map(str, order)))
        add(f"aten.{op}", T(F32), [])
        add(f"aten.{op}", T(F32, 1, 2, 3, 2, 2), [4, 2, 0, 3, 1])
        add(f"aten.{op}", T(F32, 0, 2), [1, 0])
        add(f"aten.{op}", T(F32, "s0", 2, 3), [1, 2, 0], **dyn)
        add(f"aten.{op}", T(F32, 2, 3, 2, 2, order="cl"), [0, 2, 3, 1])
    for op in ["transpose.int", "transpose_copy.int", "swapaxes", "swapdims", "transpose_", "swapaxes_", "swapdims_"]:
        for a, b in [(0, 1), (0, -1), (1, 1)]: add(f"aten.{op}", x, a, b, name=f"{a}_{b}")
    both(add, "aten.expand", T(F32, 3, 1), [2, 3, 4])
    for op in ["expand", "expand_copy"]:
        add(f"aten.{op}", T(F32), [2, 3])
        add(f"aten.{op}", T(F32, 3, 1), [-1, 4])
        add(f"aten.{op}", T(F32, 1, 3), [0, 3])
        add(f"aten.{op}", T(F32, "s0", 1), [2, -1, 3], **dyn)
        add(f"aten.{op}", T(F32, 2, 1, 2, 1), [2, 3, 2, 2], name="rank4")
    add("aten.expand_as", T(F32, 3, 1), T(F32, 2, 3, 4))
    add("aten.expand_as", T(F32, 3), T(I64, "s0", 3), **dyn)
    both(add, "aten.select.int", x, 1, 2)
    for op in ["select.int", "select_copy.int"]:
        for d, i in [(0, 0), (0, -1), (2, 3), (-1, 1)]: add(f"aten.{op}", x, d, i, name=f"{d}_{i}")
        add(f"aten.{op}", T(F32, 4), 0, 2)
        add(f"aten.{op}", T(F32, "s0", 3), 0, 0, **dyn)
        add(f"aten.{op}", T(F32, "s0", 3), 0, -1, name="last", **dyn)
        add(f"aten.{op}", T(F32, "s0", 3), 1, 2, name="other", **dyn)
        add(f"aten.{op}", T(F32, 2, 3, 2, 2, order="cl"), 1, 1, name="cl")
    both(add, "aten.slice.Tensor", x, 2, 1, 3)
    for op in ["slice.Tensor", "slice_copy.Tensor"]:
        for a in [
            (0,),
            (1, 1),
            (2, None, 2),
            (2, -3, -1),
            (2, 0, 100),
            (2, 1, 4, 2),
            (1, 2, 1),
            (-1, 0, 2),
            (0, 0, 2**63 - 1),
            (2, -100, 3, 3),
        ]:
            add(f"aten.{op}", x, *a, name="_".join(map(str, a)))
        add(f"aten.{op}", T(F32, "s0", 3), 0, 1, **dyn)
        add(f"aten.{op}", T(F32, "s0", 3), 0, None, -1, name="but_last", **dyn)
        add(f"aten.{op}", T(F32, "s0", 3), 0, 0, 2**63 - 1, 2, name="step", **dyn)
        add(f"aten.{op}", T(F32, "s0", 3), 1, 0, 2, name="other", **dyn)
        add(f"aten.{op}", T(F32, "s0", 3), 0, 0, Sym("s0 - 1"), name="symbol", **dyn)
        add(f"aten.{op}", T(F32, 2, 3, 2, 2, order="cl"), 1, 1, 3, name="cl")
    for op in ["narrow", "narrow_copy"]:
        for a in [(0, 0, 1), (2, 1, 2), (-1, -2, 2), (1, 0, 0)]: add(f"aten.{op}", x, *a, name="_".join(map(str, a)))
        add(f"aten.{op}", T(F32, "s0", 3), 1, 1, 2, **dyn)
    for suffix in ["", "_copy"]:
        for a in [(2,), (1, 1), (3, 2), (4, -1), (100, 0)]: add(f"aten.split{suffix}.Tensor", x, *a, name="_".join(map(str, a)))
        for sizes, d in [([1, 2], 1), ([4], 2), ([1, 0, 3], -1)]:
            add(f"aten.split_with_sizes{suffix}", x, sizes, d, name=f"{len(sizes)}_{d}")
        add(f"aten.split{suffix}.Tensor", T(F32, "s0", 4), 2, 1, **dyn)
        add(f"aten.unbind{suffix}.int", x, 1)
        add(f"aten.unbind{suffix}.int", T(F32, "s0", 4), 1, **dyn)
    for a in [(2,), (3, 1), (2, 2), (5, 2)]: add("aten.chunk", x, *a, name="_".join(map(str, a)))
    for op in ["alias_copy", "detach_copy"]: add(f"aten.{op}", x)

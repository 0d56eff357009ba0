"""Quantized values that are added, averaged and moved, and the quantizations that meet there."""
from quantcases import *
from graphs.static_products import RANGES

ENDS = -128, 127


def binary(add, name, op_name, a, b, at=(0.03, 5), other=(0.05, -7), to=(0.07, 2), between="", integers=1, **more):
    def body(op, x, y):
        r = op(op_name, rounded(op, x, *at), rounded(op, y, *other))
        if between: r = RANGES[between](op, r)
        return rounded(op, r, *to)

    add(name, body, a, b, step=to[0], integers=integers, **more)


def binaries(add):
    for short, op_name in ("add", "aten.add.Tensor"), ("sub", "aten.sub.Tensor"), ("mul", "aten.mul.Tensor"):
        mul = short == "mul"
        to = (0.1513, 2) if mul else (0.07, 2)
        for r in RANGES: binary(add, f"{short}_{r}", op_name, T(F32, 3, 5), T(F32, 3, 5), to=to, between=r)
        binary(add, f"{short}_equal", op_name, T(F32, 2, 9), T(F32, 2, 9), (0.05, 0), (0.05, 0), (0.0513 if mul else 0.05, 0))
        for za in ENDS:
            for zb in ENDS: binary(add, f"{short}_zeros_{za}_{zb}", op_name, T(F32, 3, 5), T(F32, 3, 5), (0.03, za), (0.03, zb), (to[0], -za - 1))
        for n in 1, 2, 17, 64: binary(add, f"{short}_size_{n}", op_name, T(F32, n), T(F32, n), to=to)
        for a, b in ((2, 3, 4), (1, 3, 1)), ((1, 4), (5, 1)), ((3, 4), (1, 1)), ((2, 3, 4, 5), (2, 3, 1, 1)):
            binary(add, f"{short}_broadcast_{len(a)}_{b[0]}", op_name, T(F32, *a), T(F32, *b), to=to)
        binary(add, f"{short}_ranks", op_name, T(F32, 2, 3, 4), T(F32, 4), to=to, integers=0)  # of one rank only
        binary(add, f"{short}_range", op_name, T(F32, "s0", 4), T(F32, "s0", 4), to=to, where={"s0": (1, 9)})
        binary(add, f"{short}_range_broadcast", op_name, T(F32, "s0", "s1"), T(F32, 1, "s1"), to=to, where={"s0": (1, 5), "s1": (2, 6)})
        binary(add, f"{short}_image", op_name, T(F32, 2, 3, 4, 5, order="cl"), T(F32, 2, 3, 4, 5), to=to)
        binary(add, f"{short}_far_scales", op_name, T(F32, 3, 5), T(F32, 3, 5, low=-0.1, high=0.1), (0.03, 0), (0.0011, 0), to)
        binary(add, f"{short}_beyond_scales", op_name, T(F32, 3, 5), T(F32, 3, 5), (0.03, 0), (0.03, 0), (2e-6 if mul else 1e-4, 0), integers=0)
    binary(add, "add_alpha_of_one", "aten.add.Tensor", T(F32, 3, 5), T(F32, 3, 5))
    add("add_twice", lambda op, x: rounded(op, op("aten.add.Tensor", *[rounded(op, x, 0.03, 5)] * 2), 0.06, 3), T(F32, 3, 5), step=0.06, integers=1)
    add("add_alpha", lambda op, x, y: rounded(op, op("aten.add.Tensor", rounded(op, x, 0.03), rounded(op, y, 0.05), alpha=2), 0.1), T(F32, 3, 5), T(F32, 3, 5),
        step=0.1, integers=0)
    add("add_constant", lambda op, x, y: rounded(op, op("aten.add.Tensor", rounded(op, x, 0.03), y), 0.07), T(F32, 3, 5), T(F32, 5, weight=True), step=0.07, integers=0)
    add("add_float", lambda op, x, y: rounded(op, op("aten.add.Tensor", rounded(op, x, 0.03), y), 0.07), T(F32, 3, 5), T(F32, 3, 5), step=0.07, integers=0)
    # The floats that the integers stand for are used twice: as they are, and quantized.
    def residual(op, x, y):
        a, b = rounded(op, x, 0.03, 5), rounded(op, y, 0.05, -7)
        s = rounded(op, op("aten.add.Tensor", a, b), 0.07, 2)
        return rounded(op, op("aten.mul.Tensor", s, a), 0.1513, 1), s
    add("residual", residual, T(F32, 3, 5), T(F32, 3, 5), step=0.1513, integers=2)
    add("swapped", lambda op, x, y: rounded(op, op("aten.add.Tensor", rounded(op, op("aten.permute", x, [1, 0]), 0.03), rounded(op, y, 0.05)), 0.07),
        T(F32, 5, 3), T(F32, 3, 5), step=0.07, integers=1)


def means(add):
    def mean(name, x, dims, keep, at=(0.03, 5), to=(0.023, -3), between="", integers=1, **more):
        def body(op, x):
            y = op("aten.mean.dim", rounded(op, x, *at), dims, keep)
            return rounded(op, RANGES[between](op, y) if between else y, *to)
        add(f"mean_{name}", body, x, step=to[0], integers=integers, **more)

    image = T(F32, 2, 3, 4, 5)
    for keep in False, True:
        mean(f"{keep}", image, [2, 3], keep)
        mean(f"last_{keep}", image, [-1, -2], keep)
        mean(f"one_pixel_{keep}", T(F32, 1, 3, 1, 1), [2, 3], keep)
        mean(f"range_{keep}", T(F32, "s0", 3, 4, "s1"), [2, 3], keep, where={"s0": (1, 3), "s1": (1, 6)})
        mean(f"relu_{keep}", image, [2, 3], keep, between="relu")
    for zero in ENDS: mean(f"zero_{zero}", image, [2, 3], True, (0.03, zero), (0.031, zero))
    mean("large", T(F32, 1, 2, 15, 17), [2, 3], True)
    mean("layout", T(F32, 2, 3, 4, 5, order="cl"), [2, 3], True)
    for label, at, to in ("fine", (0.03, 5), (1.1e-6, 0)), ("apart", (1e-7, 0), (10.0, 0)): mean(label, image, [2, 3], True, at, to)
    mean("rows", T(F32, 3, 8), [1], True, integers=0)
    add("adaptive", lambda op, x: rounded(op, op("aten.adaptive_avg_pool2d", rounded(op, x, 0.03, 5), [1, 1]), 0.023, -3), image, step=0.023, integers=1)
    add("adaptive_halves", lambda op, x: rounded(op, op("aten.adaptive_avg_pool2d", rounded(op, x, 0.03, 5), [2, 1]), 0.023, -3), image, step=0.023, integers=0)


MOVES = {
    "view": lambda op, x: op("aten.view", x, [4, 30]),
    "flat": lambda op, x: op("aten.view", x, [120]),
    "permute": lambda op, x: op("aten.permute", x, [0, 3, 1, 2]),
    "permute_view": lambda op, x: op("aten.view", op("aten.permute", x, [0, 2, 3, 1]), [2, 20, 3]),
    "slice": lambda op, x: op("aten.slice.Tensor", x, 2, 1, 3),
    "select": lambda op, x: op("aten.select.int", x, 1, -1),
    "pad": lambda op, x: op("aten.constant_pad_nd", x, [1, 2, 0, 1], 0.0),
    "max_pool": lambda op, x: op("aten.max_pool2d", x, [2, 2], [1, 2], [1, 0]),
}


def moves(add):
    x = T(F32, 2, 3, 4, 5)
    for name, move in MOVES.items():
        pool = int(name == "max_pool")
        add(f"{name}_between", lambda op, x, move=move: rounded(op, move(op, rounded(op, x, 0.03, 5)), 0.03, 5), x, step=0.03, integers=pool)
        add(f"{name}_zero", lambda op, x, move=move: rounded(op, move(op, rounded(op, x, 0.03, -128)), 0.03, -128), x, step=0.03, integers=pool)
        add(f"{name}_unequal", lambda op, x, move=move: rounded(op, move(op, rounded(op, x, 0.03, 5)), 0.05, -4), x, step=0.05)
        add(f"{name}_floats", lambda op, x, move=move: move(op, rounded(op, x, 0.03, 5)), x, step=0.03)
        add(f"{name}_numbers", lambda op, x, move=move: quantize(op, move(op, rounded(op, x, 0.03, 5)), 0.03, 5), x, step=1)
        add(f"{name}_product", lambda op, x, y, move=move: rounded(op, op("aten.add.Tensor", rounded(op, move(op, rounded(op, x, 0.03, 5)), 0.03, 5), rounded(op, move(op, y), 0.05)), 0.07, 1),
            x, x, step=0.07, integers=1 + pool)
    add("pad_one", lambda op, x: rounded(op, op("aten.constant_pad_nd", rounded(op, x, 0.03, 5), [1, 1], 1.0), 0.03, 5), x, step=0.03)
    for axis in 0, 1, -1:
        def joined(op, a, b, axis=axis, other=0.03):
            return rounded(op, op("aten.cat", [rounded(op, a, 0.03, 5), rounded(op, b, other, 5)], axis), 0.03, 5)
        add(f"cat_{axis}", joined, T(F32, 3, 4), T(F32, 3, 4), step=0.03)
        add(f"cat_unequal_{axis}", lambda op, a, b, j=joined: j(op, a, b, other=0.05), T(F32, 3, 4), T(F32, 3, 4), step=0.03)
    add("cat_many", lambda op, *x: rounded(op, op("aten.cat", [rounded(op, v, 0.03, 5) for v in x], 0), 0.03, 5), *[T(F32, 1, 4)] * 7, step=0.03)
    add("view_range", lambda op, x: rounded(op, op("aten.view", rounded(op, x, 0.03, 5), [Sym("s0"), 12]), 0.03, 5), T(F32, "s0", 3, 4), step=0.03, where={"s0": (1, 5)})
    add("slice_range", lambda op, x: rounded(op, op("aten.slice.Tensor", rounded(op, x, 0.03, 5), 0, 1, 2**63 - 1), 0.03, 5), T(F32, "s0", 4), step=0.03, where={"s0": (2, 5)})
    # Numbers come in and go out.
    for name, move in MOVES.items():
        add(f"{name}_of_numbers", lambda op, q, move=move: quantize(op, move(op, dequantize(op, q, 0.03, 5)), 0.03, 5), T(I8, 2, 3, 4, 5, low=-128, high=127), step=1)


def conversions(add):
    """A range, a requantization, or nothing between two quantizations."""
    x = T(F32, 4, 7, low=-6, high=6)
    ranges = {"none": lambda op, v: v, "relu6": lambda op, v: op("aten.hardtanh", v, 0.0, 6.0), **{k: (lambda op, v, r=r: r(op, v)) for k, r in RANGES.items() if r}}
    for name, between in ranges.items():
        for label, at, to in ("equal", (0.05, -10), (0.05, -10)), ("unequal", (0.05, -10), (0.03, 4)), ("ends", (0.05, 127), (0.05, -128)), ("finer", (0.05, 0), (0.001, 0)):
            add(f"{name}_{label}", lambda op, x, at=at, to=to, f=between: rounded(op, f(op, rounded(op, x, *at)), *to), x, step=to[0])
        add(f"{name}_range", lambda op, x, f=between: rounded(op, f(op, rounded(op, x, 0.05, -10)), 0.05, -10), T(F32, "s0", 3), step=0.05, where={"s0": (1, 6)})
        add(f"{name}_number", lambda op, x, f=between: rounded(op, f(op, rounded(op, x, 0.05, -10)), 0.05, -10), T(F32), step=0.05)
    add("two_uses", lambda op, x: [rounded(op, x, 0.05, -10), rounded(op, op("aten.relu", rounded(op, x, 0.05, -10)), 0.05, -10)], x, step=0.05)
    add("requantized_twice", lambda op, x: rounded(op, rounded(op, rounded(op, x, 0.05, -10), 0.11, 3), 0.02, 0), x, step=0.11)


def cases(add):
    binaries(add)
    means(add)
    moves(add)
    conversions(add)

from opcases import *


def cases(add):
    nan, inf = math.nan, math.inf
    plain = ["relu", "gelu", "silu", "hardsigmoid", "hardswish", "relu6", "hardtanh", "leaky_relu", "elu", "celu", "selu", "softplus", "mish", "softshrink", "hardshrink"]
    for op in plain:
        name = f"aten.{op}"
        for d in FLOATS: add(name, T(d, 3, 5))
        for shape in [(), (7,), (2, 0, 3), (2, 1, 3), (2, 2, 1, 3), (1, 2, 2, 1, 3)]: add(name, T(F32, *shape))
        add(name, T(F32, 20, specials=[nan, inf, -inf, 0.0, -0.0, 20.5, -50.0]), name="specials")
        add(name, T(F32, 2, 3, 2, 2, order="cl"))
        add(name, T(F32, "s0", 3), where={"s0": (1, 6)})

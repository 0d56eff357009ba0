from opcases import *


def cases(add):
    nan, inf = math.nan, math.inf
    plain = [
        "relu",
        "gelu",
        "silu",
        "hardsigmoid",
        "hardswish",
        "relu6",
        "hardtanh",
        "leaky_relu",
        "elu",
        "celu",
        "selu",
        "softplus",
        "mish",
        "softshrink",
        "hardshrink",
        "log_sigmoid",
        "rrelu",
    ]
    for op in plain:
        name = f"aten.{op}"
        for d in FLOATS: add(name, T(d, 3, 5))
        for shape in [(), (7,), (2, 0, 3), (2, 1, 3), (2, 2, 1, 3), (1, 2, 2, 1, 3)]: add(name, T(F32, *shape))
        infinite = [inf, -inf] if op != "gelu" else []  # torch's vectors and scalars disagree there
        add(name, T(F32, 20, specials=[nan, *infinite, 0.0, -0.0, 20.5, -50.0]), name="specials")
        add(name, T(F32, 2, 3, 2, 2, order="cl"))
        add(name, T(F32, "s0", 3), where={"s0": (1, 6)})
        if hasattr(torch.ops.aten, op + "_"): add(name + "_", T(F32, 2, 3))
    for d in INTS:
        for op in ["relu", "relu6", "hardtanh", "relu_"][:None if d != U8 else 2]: add(f"aten.{op}", T(d, 2, 6))
        add("aten.threshold", T(d, 2, 6), 3, 7)
    for d in FLOATS:
        add("aten.gelu", T(d, 3, 5), approximate="tanh", name=f"{NAMES[d]}_tanh")
        add("aten.hardtanh", T(d, 3, 5), -2, 0.5, name=f"{NAMES[d]}_range")
        add("aten.leaky_relu", T(d, 3, 5), 0.3, name=f"{NAMES[d]}_0.3")
        add("aten.elu", T(d, 3, 5), 0.5, 2.0, 1.5, name=f"{NAMES[d]}_given", tol={F16: 4e-3, BF16: 2e-2}.get(d))
        add("aten.celu", T(d, 3, 5), 2.0, name=f"{NAMES[d]}_2")
        add("aten.softplus", T(d, 3, 5), 2, 3, name=f"{NAMES[d]}_given")
        add("aten.softshrink", T(d, 3, 5), 1.5, name=f"{NAMES[d]}_1.5")
        add("aten.hardshrink", T(d, 3, 5), 1.5, name=f"{NAMES[d]}_1.5")
        add("aten.threshold", T(d, 3, 5), 0.5, -2.0)
        add("aten.glu", T(d, 3, 6))
        add("aten.glu", T(d, 4, 3), 0, name=f"{NAMES[d]}_dim0")
        add("aten.prelu", T(d, 2, 3, 2), T(d, 3))
        add("aten.prelu", T(d, 2, 3, 2), T(d, 1))
    add("aten.threshold_", T(F32, 3, 5), 0.5, -2.0)
    for shape in [(3,), (), (2, 3), (2, 3, 1, 2, 2)]: add("aten.prelu", T(F32, *shape), T(F32, 1))
    add("aten.prelu", T(F32, 2, 3, 2, 2, order="cl"), T(F32, 3))
    add("aten.prelu", T(F32, "s0", 3, 2), T(F32, 3), where={"s0": (1, 4)})
    add("aten.glu", T(F32, "s0", 6), where={"s0": (1, 4)})
    add("aten.glu", T(F32, "s0", 6), 0, where={"s0": (2, 6)}, sizes=[{"s0": 2}, {"s0": 6}], name="dynamic_dim")
    add("aten.rrelu", T(F32, 3), training=True, refused="training mode", name="training")
    for d in FLOATS: add("aten.log_sigmoid_forward", T(d, 3, 4, low=-30, high=30, specials=[math.inf, -math.inf, math.nan, 0.0]))
    add("aten.log_sigmoid_forward", T(F32))
    for d in FLOATS: add("aten._prelu_kernel", T(d, 2, 3, 2), T(d, 1, 3, 1))

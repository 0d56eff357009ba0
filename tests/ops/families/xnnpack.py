"""What the operators of the XNNPACK backend's table do with NaN, infinities and odd forms. The kernels are checked with the same cases."""
from opcases import *

nan, inf = float("nan"), float("inf")
ODD = [nan, inf, -inf, 0.0, -0.0]
UNARY = ("abs", "ceil", "cos", "exp", "floor", "log", "neg", "rsqrt", "sigmoid", "sin", "sqrt", "square", "tanh", "reciprocal", "relu", "relu6",
         "hardtanh", "leaky_relu", "elu", "gelu", "hardswish", "hardsigmoid", "silu", "softplus", "mish", "log_sigmoid", "selu", "celu", "round", "sign")
BINARY = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum", "rsub.Tensor")


def odd(*sizes, **how):
    return T(F32, *sizes, specials=ODD, **how)


def cases(add):
    for op in UNARY:
        add(f"aten.{op}", odd(3, 7), name="odd")
        add(f"aten.{op}", T(F32, 2, 3, 4, 5, order="cl"), name="image")
    for op in BINARY:
        add(f"aten.{op}", odd(4, 6), odd(4, 6), name="odd")
        add(f"aten.{op}", odd(2, 3, 4, 5), T(F32, 3, 1, 1), name="odd_broadcast")
    for sizes in (3, 4), (2, 4, 5), (2, 4, 3, 3):
        c = sizes[1]
        weights = [T(F32, c, weight=True), T(F32, c, weight=True), T(F32, c, weight=True), T(F32, c, weight=True, low=1, high=4)]
        add("aten.batch_norm", T(F32, *sizes), *weights, False, 0.1, 1e-5, True, name=f"weights_{len(sizes)}")
        add("aten.prelu", T(F32, *sizes), T(F32, c, weight=True), name=f"weights_{len(sizes)}")
        add("aten.group_norm", T(F32, *sizes), 2, T(F32, c, weight=True), T(F32, c, weight=True), name=f"weights_{len(sizes)}")
        add("aten.rms_norm", T(F32, *sizes), [sizes[-1]], T(F32, sizes[-1], weight=True), name=f"weights_{len(sizes)}")
        for e in (2, 3, 0.5, -1, -2, 4): add("aten.pow.Tensor_Scalar", T(F32, *sizes, low=1, high=3), e, name=f"{len(sizes)}_{e}")
    for op in ("relu", "sigmoid", "gelu", "hardswish", "softplus", "exp", "neg"):  # both ends of a range, half precision
        add(f"aten.{op}", T(F32, "s0", 3, "s1"), where={"s0": (1, 5), "s1": (2, 4)}, name="ranges")
        if op != "gelu": add(f"aten.{op}", T(F16, 3, 5), name="half")
    for dims, keep in ([1], False), ([-1], True), ([1, 2], False), ([0], True):
        add("aten.amax", T(F32, 3, 4, 5), dims, keep)
    add("aten.amax", T(F32, "s0", 4, 5), [1, 2], where={"s0": (1, 4)}, name="range")
    for op in "amax", "max.dim": add(f"aten.{op}", T(F32), 0, name="rank0")
    add("aten.slice_scatter", T(F32, 4, 5), T(F32, 2, 5), 0, 1, 3)
    add("aten.slice_scatter", T(F32, 4, 5), T(F32, 4, 3), 1, 2, 9223372036854775807, name="end")
    add("aten.slice_scatter", T(F32, "s0", 5), T(F32, "s0", 2), 1, 0, 2, where={"s0": (1, 4)}, name="range")
    add("aten.select_scatter", T(F32, 4, 5), T(F32, 4), 1, -1)
    add("aten.select_scatter", T(F32, 2, 3, 4, 5, order="cl"), T(F32, 2, 4, 5), 1, 1, name="image")
    add("aten.select_scatter", T(F32, "s0", 5), T(F32, "s0"), 1, 0, where={"s0": (1, 4)}, name="range")
    add("aten.clamp", odd(4, 6), -1.0, 0.5, name="odd")
    add("aten.clamp", odd(4, 6), None, 0.5, name="odd_above")
    add("aten.clamp", odd(4, 6), -0.5, None, name="odd_below")
    add("aten.gelu", odd(4, 6), approximate="tanh", name="odd_tanh")
    add("aten.softmax.int", odd(4, 6), -1, name="odd")
    add("aten.pow.Tensor_Scalar", odd(4, 6), 2, name="odd")
    add("aten.pow.Tensor_Scalar", odd(4, 6), 3, name="odd_cube")
    add("aten.add.Scalar", odd(4, 6), 1.5, name="odd")
    add("aten.mul.Scalar", odd(4, 6), 0.0, name="odd")
    add("aten.prelu", odd(2, 3, 4), T(F32, 3, weight=True), name="odd")
    add("aten.cat", [odd(2, 3), T(F32, 2, 3)], 0, name="odd")
    add("aten.mean.dim", odd(2, 3, 4, 5), [2, 3], True, name="odd")
    add("aten.sum.dim_IntList", odd(6, 5), [1], name="odd")
    add("aten.layer_norm", odd(4, 8), [8], name="odd")
    add("aten.rms_norm", odd(4, 8), [8], name="odd")
    add("aten.group_norm", odd(2, 4, 3, 3), 2, name="odd")
    add("aten.linear", odd(3, 8), T(F32, 5, 8, weight=True), name="odd")
    add("aten.bmm", odd(2, 3, 4), T(F32, 2, 4, 5), name="odd")
    add("aten.constant_pad_nd", odd(2, 3), [1, 1], 0.5, name="odd")
    add("aten.max_pool2d", T(F32, 1, 2, 6, 6, specials=[inf, -inf]), [2, 2], name="odd")
    add("aten.avg_pool2d", odd(1, 2, 6, 6), [2, 2], name="odd")
    add("aten.adaptive_avg_pool2d", odd(1, 2, 6, 6), [1, 1], name="odd")
    add("aten.upsample_bilinear2d.vec", odd(1, 2, 3, 3), [6, 6], False, None, name="odd")
    add("aten.convolution", odd(1, 3, 6, 6), T(F32, 4, 3, 3, 3, weight=True), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, name="odd")

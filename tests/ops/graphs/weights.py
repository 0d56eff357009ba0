"""Products of floats with weights that alone are quantized."""
from quantcases import *
from graphs.static_products import RANGES, bias, conv, linear


def product(add, name, x, weight, call, bias=None, between="", weights=1, **more):
    def body(op, x, w, b):
        y = call(op, x, weight.dequantized(op, w), b)
        return RANGES[between](op, y) if between else y

    add(name, body, x, weight.operands(), bias, tol=2e-5, weights=weights, **more)


def groups(op, w, size, low=-8, high=7):
    return op(Q + "dequantize_per_channel_group", *w, low, high, I8, size, F32)


def cases(add):
    for form in "tensor", "channel":
        for b in None, bias(5):
            for r in RANGES: product(add, f"weight_linear_{form}_{'bias' if b else 'plain'}_{r}", T(F32, 3, 8), Weight(5, 8, form=form), linear, b, r)
        product(add, f"weight_linear_{form}_range", T(F32, "s0", 8), Weight(5, 8, form=form), linear, bias(5), "relu", where={"s0": (1, 7)})
        product(add, f"weight_conv2d_{form}", T(F32, 1, 3, 6, 5), Weight(4, 3, 3, 3, form=form), conv(padding=1), bias(4), "relu", weights=0)
        product(add, f"weight_conv1d_{form}", T(F32, 2, 3, 9), Weight(4, 3, 3, form=form), conv(padding=1, spatial=1), bias(4), weights=0)
        product(add, f"weight_depthwise_{form}", T(F32, 1, 3, 6, 5), Weight(3, 1, 3, 3, form=form), conv(groups=3), None, weights=0)
        product(add, f"weight_transposed_{form}", T(F32, 1, 3, 6, 5), Weight(3, 4, 2, 2, form=form, axis=1), conv(stride=2, transposed=True), bias(4), weights=0)
    for sizes in (1,), (7,), (33,), (): product(add, f"weight_rows_{sizes}", T(F32, *sizes, 13), Weight(1, 13), linear, bias(1))
    for k in 1, 2, 3, 17, 64: product(add, f"weight_inner_{k}", T(F32, 2, k), Weight(9, k), linear, bias(9))
    product(add, "weight_two_ranges", T(F32, "s0", "s1", 8), Weight(5, 8), linear, bias(5), where={"s0": (1, 3), "s1": (2, 5)})
    product(add, "weight_swapped_rows", T(F32, 2, 8, 3), Weight(5, 8), lambda op, x, w, b: linear(op, op("aten.permute", x, [0, 2, 1]), w, b), bias(5))
    product(add, "weight_inputs_scales", T(F32, 3, 8), Weight(5, 8, axis=1), linear, bias(5), weights=0)
    product(add, "weight_unequal_zeros", T(F32, 3, 8), Weight(5, 8, zeros=[0, 1, -2, 0, 3]), linear, bias(5), weights=0)
    product(add, "weight_four_bits", T(F32, 3, 8), Weight(5, 8, form="four", scale=0.1), linear, bias(5), weights=0)
    four = lambda n, k, size, zeros=0: [T(I8, n, k, low=-8, high=7, weight=True), T(F32, n, k // size, low=0.05, high=0.2, den=512, weight=True),
                                        T(F32, n, k // size, low=-zeros, high=zeros, den=1, weight=True)]
    for size in 4, 32, 64:
        for zeros in 0, 3:
            add(f"weight_groups_{size}_{zeros}", lambda op, x, w, b, size=size: op("aten.linear", x, groups(op, w, size), b), T(F32, 3, 64), four(5, 64, size, zeros), bias(5),
                tol=2e-5, weights=0)
    # One weight of two products, and one that a product and a sum share.
    def twice(op, x, w, s, z):
        d = op(Q + "dequantize_per_channel", w, s, z, 0, -127, 127, I8)
        return op("aten.linear", op("aten.relu", op("aten.linear", x, d)), d)
    add("weight_of_two", twice, T(F32, 3, 8), *Weight(8, 8).operands(), tol=2e-5, weights=2)
    def shared(op, x, w, s, z):
        d = op(Q + "dequantize_per_channel", w, s, z, 0, -127, 127, I8)
        return op("aten.add.Tensor", op("aten.linear", x, d), d)
    add("weight_in_a_sum", shared, T(F32, 8, 8), *Weight(8, 8).operands(), tol=2e-5, weights=1)
    if not torchao: return
    for rows, size, label in (1, 8, "row"), (1, 4, "group"), (5, 8, "all"):
        w = T(I8, 5, 8, low=-127, high=127, weight=True)
        s = T(F32, 5 // rows, 8 // size, low=0.005, high=0.02, den=1 << 20, weight=True)
        z = T(I32, 5 // rows, 8 // size, low=0, high=0, weight=True)
        add(f"weight_affine_{label}", lambda op, x, w, s, z, b, block=[rows, size]: op("aten.linear", x, op("torchao.dequantize_affine", w, block, s, z, I8, -128, 127), b),
            T(F32, 3, 8), w, s, z, bias(5), tol=2e-5, weights=1 if label == "row" else 0)

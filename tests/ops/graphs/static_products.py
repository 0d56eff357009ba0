"""Products of quantized values: int8 by int8, the result quantized again. A range may lie between."""
from quantcases import *

RANGES = {
    "": None,
    "relu": lambda op, y: op("aten.relu", y),
    "hardtanh": lambda op, y: op("aten.hardtanh", y, 0.0, 6.0),
    "clamp": lambda op, y: op("aten.clamp", y, -2.0, 3.0),
    "below": lambda op, y: op("aten.clamp", y, None, 1.5),
    "above": lambda op, y: op("aten.clamp", y, -1.0),
}


def product(add, name, x, weight, call, bias=None, between="", at=(0.03, 5), to=(0.09, -3), numbers_out=False, integers=1, **more):
    """dequantize(quantize(range(call(dequantized x, dequantized weight, bias))))."""

    def body(op, x, w, b):
        y = call(op, rounded(op, x, *at), weight.dequantized(op, w), b)
        if between: y = RANGES[between](op, y)
        q = quantize(op, y, *to)
        return q if numbers_out else dequantize(op, q, *to)

    add(name, body, x, weight.operands(), bias, step=1 if numbers_out else to[0], integers=integers, **more)


def linear(op, x, w, b):
    return op("aten.linear", x, w, b)


def conv(stride=1, padding=0, dilation=1, groups=1, transposed=False, output_padding=0, spatial=2):
    every = lambda n: [n] * spatial if isinstance(n, int) else n
    return lambda op, x, w, b: op(
        "aten.convolution", x, w, b, every(stride), every(padding), every(dilation), transposed, every(output_padding), groups)




def bias(n, size=1):
    return T(F32, n, low=-size, high=size, weight=True)


def linears(add):
    for form in "tensor", "channel":
        for b in None, bias(5):
            for r in RANGES: product(add, f"linear_{form}_{'bias' if b else 'plain'}_{r}", T(F32, 3, 8), Weight(5, 8, form=form), linear, b, r)
        for zero in -128, 127: product(add, f"linear_{form}_zero_{zero}", T(F32, 3, 8), Weight(5, 8, form=form), linear, bias(5), at=(0.03, zero), to=(0.09, zero))
        product(add, f"linear_{form}_numbers", T(F32, 3, 8), Weight(5, 8, form=form), linear, bias(5), numbers_out=True)
        product(add, f"linear_{form}_range", T(F32, "s0", 8), Weight(5, 8, form=form), linear, bias(5), "relu", where={"s0": (1, 7)})
    for sizes in (1,), (7,), (1, 1), (33,), (65,): product(add, f"linear_sizes_{sizes}", T(F32, *sizes, 13), Weight(1, 13), linear, bias(1))
    for k in 1, 3, 17, 64: product(add, f"linear_inner_{k}", T(F32, 2, k), Weight(9, k), linear, bias(9), to=(0.2, 0))
    product(add, "linear_vector", T(F32, 8), Weight(5, 8), linear, bias(5))
    product(add, "linear_rank4", T(F32, 2, 1, 3, 8), Weight(5, 8), linear)
    product(add, "linear_saturates", T(F32, 3, 8), Weight(5, 8), linear, bias(5), to=(0.002, 10))
    product(add, "linear_large_bias", T(F32, 3, 8), Weight(5, 8), linear, bias(5, 100), to=(1.0, 0))
    product(add, "linear_swapped_rows", T(F32, 2, 8, 3), Weight(5, 8), lambda op, x, w, b: linear(op, op("aten.permute", x, [0, 2, 1]), w, b), bias(5))
    product(add, "linear_unequal_zeros", T(F32, 3, 8), Weight(5, 8, zeros=[0, 1, -2, 0, 3]), linear, bias(5), integers=0)
    product(add, "linear_four_bits", T(F32, 3, 8), Weight(5, 8, form="four", scale=0.1), linear, bias(5), integers=0)
    product(add, "linear_two_ranges", T(F32, 3, 8), Weight(5, 8), lambda op, x, w, b: op("aten.relu", op("aten.hardtanh", linear(op, x, w, b), -1.0, 2.0)), bias(5), integers=0)


def convolutions(add):
    image = T(F32, 1, 3, 6, 5)
    for form in "tensor", "channel":
        for b in None, bias(4):
            for r in RANGES: product(add, f"conv2d_{form}_{'bias' if b else 'plain'}_{r}", image, Weight(4, 3, 3, 3, form=form), conv(padding=1), b, r, to=(0.15, 2))
        for zero in -128, 127: product(add, f"conv2d_{form}_zero_{zero}", image, Weight(4, 3, 3, 3, form=form), conv(padding=1), bias(4), at=(0.03, zero), to=(0.15, zero))
        product(add, f"depthwise_{form}", image, Weight(3, 1, 3, 3, form=form), conv(padding=1, groups=3), bias(3), "relu")
        product(add, f"multiplier_{form}", image, Weight(6, 1, 3, 3, form=form), conv(padding=1, groups=3), bias(6))
        product(add, f"groups_{form}", T(F32, 2, 4, 5, 5), Weight(6, 2, 3, 3, form=form), conv(groups=2), bias(6))
        product(add, f"transposed_{form}", image, Weight(3, 4, 2, 3, form=form, axis=1), conv(stride=2, transposed=True), bias(4), "relu")
        product(add, f"conv1d_{form}", T(F32, 2, 3, 9), Weight(4, 3, 3, form=form), conv(padding=1, spatial=1), bias(4), "relu")
        product(add, f"numbers_{form}", image, Weight(4, 3, 3, 3, form=form), conv(), bias(4), numbers_out=True)
    for stride in 1, 2, [2, 1]: product(add, f"stride_{stride}", image, Weight(2, 3, 3, 3), conv(stride=stride, padding=[0, 2]), bias(2))
    for dilation in 2, [1, 2]: product(add, f"dilation_{dilation}", T(F32, 1, 2, 7, 7), Weight(3, 2, 3, 3), conv(dilation=dilation), bias(3))
    for k in (1, 1), (5, 1), (1, 4): product(add, f"kernel_{k}", image, Weight(4, 3, *k), conv(), None)
    product(add, "depthwise_stride", T(F32, 2, 5, 7, 7), Weight(5, 1, 3, 3), conv(stride=2, padding=1, groups=5))
    product(add, "depthwise_1d", T(F32, 1, 5, 9), Weight(5, 1, 3), conv(padding=1, groups=5, spatial=1), bias(5))
    product(add, "one_channel", T(F32, 1, 1, 5, 5), Weight(1, 1, 3, 3), conv(), bias(1))
    product(add, "one_pixel", T(F32, 1, 3, 1, 1), Weight(4, 3, 1, 1), conv(), bias(4))
    product(add, "channels_last", T(F32, 2, 3, 5, 4, order="cl"), Weight(4, 3, 3, 3), conv(padding=1), bias(4))
    product(add, "range_batch", T(F32, "s0", 3, 5, 4), Weight(4, 3, 3, 3), conv(padding=1), bias(4), where={"s0": (1, 3)})
    product(add, "range_image", T(F32, 1, 3, "s0", "s1"), Weight(4, 3, 3, 3), conv(padding=1), bias(4), where={"s0": (1, 6), "s1": (2, 7)})
    product(add, "conv1d_range", T(F32, 1, 3, "s0"), Weight(4, 3, 3), conv(padding=1, spatial=1), bias(4), where={"s0": (1, 9)})
    product(add, "conv1d_stride", T(F32, 1, 2, 16), Weight(4, 2, 4), conv(stride=2, padding=1, spatial=1), bias(4))
    product(add, "transposed_padding", image, Weight(3, 4, 3, 3, axis=1), conv(stride=2, padding=1, output_padding=1, transposed=True), bias(4))
    product(add, "transposed_dilation", image, Weight(3, 4, 2, 2, axis=1), conv(dilation=2, transposed=True))
    product(add, "transposed_one_scale_groups", T(F32, 1, 4, 4, 4), Weight(4, 3, 2, 2, form="tensor"), conv(groups=2, transposed=True), bias(6))
    product(add, "transposed_groups", T(F32, 1, 4, 4, 4), Weight(4, 3, 2, 2, axis=1), conv(groups=2, transposed=True), bias(6), integers=0)
    product(add, "transposed_inputs_scales", image, Weight(3, 4, 2, 2, axis=0), conv(transposed=True), bias(4), integers=0)
    product(add, "transposed_1d", T(F32, 1, 3, 6), Weight(3, 4, 3, axis=1), conv(stride=2, transposed=True, spatial=1), bias(4))
    product(add, "inputs_scales", image, Weight(4, 3, 3, 3, axis=1), conv(), bias(4), integers=0)
    product(add, "unequal_zeros", image, Weight(4, 3, 3, 3, zeros=[0, 1, 0, -1]), conv(), bias(4), integers=0)
    # Beyond what the delegate has: floats.
    for label, at, to in ("coarse", (0.03, 5), (1e-6, 0)), ("tiny", (1e-40, 5), (0.15, 2)), ("tiny_result", (0.03, 5), (1e-40, 2)), ("tiny_product", (1e-37, 0), (1e-37, 2)):
        for form in "tensor", "channel":
            how = {"at": at, "to": to, "integers": 0}
            product(add, f"scales_linear_{form}_{label}", T(F32, 3, 8), Weight(5, 8, form=form), linear, bias(5), **how, weights=int(label == "tiny"))
            product(add, f"scales_conv2d_{form}_{label}", image, Weight(4, 3, 3, 3, form=form), conv(), bias(4), **how)
            product(add, f"scales_depthwise_{form}_{label}", image, Weight(3, 1, 3, 3, form=form), conv(groups=3), bias(3), **how)
            product(add, f"scales_transposed_{form}_{label}", image, Weight(3, 4, 2, 2, form=form, axis=1), conv(transposed=True), bias(4), **how)
    huge = lambda n: T(F32, n, values=[1e8, -1e8, 1e6, -1e6, 0.5][:n], weight=True)
    product(add, "scales_linear_bias", T(F32, 3, 8), Weight(5, 8), linear, huge(5), integers=0)
    product(add, "scales_conv2d_bias", image, Weight(4, 3, 3, 3), conv(), huge(4), integers=0)
    product(add, "scales_fine", T(F32, 3, 8), Weight(5, 8), linear, bias(5), to=(2e-5, 0))
    product(add, "scales_apart", T(F32, 3, 8), Weight(5, 8), linear, bias(5, 0.1), at=(1e-7, 0), to=(10.0, 0))
    for sides in [1, 1, 1, 1], [0, 2, 1, 0]:
        product(add, f"padded_before_{sides}", image, Weight(4, 3, 3, 3),
                lambda op, x, w, b, sides=sides: conv()(op, rounded(op, op("aten.constant_pad_nd", x, sides, 0.0), 0.03, 5), w, b), bias(4))


def cases(add):
    linears(add)
    convolutions(add)

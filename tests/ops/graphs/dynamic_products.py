"""Products of values that are quantized while the program runs with int8 and 4-bit weights."""
from quantcases import *
from graphs.static_products import RANGES, bias, conv, linear


def full(n, *sizes):
    """A tensor of which every slice along the first dims goes from -4 to 3.5, so that rows and the whole have the same scale."""
    count = math.prod(sizes)
    rows = [[-4.0, 3.5, *((mixed(n, r * count + i) % 30721 - 16384) / 4096 for i in range(count))][:count] for r in range(n)]
    return [v for row in rows for v in row]


def as_exported(name):
    """Scales and zero points in the dtypes that the operator gives in an exported graph."""
    return lambda *a: [v.to(d) for v, d in zip(torch_op(Q + name)(*a), (F64, I64))]


def per_tensor(op, x, low=-128, symmetric=False, eps=1e-6):
    name = "choose_qparams_symmetric.tensor" if symmetric else "choose_qparams.tensor"
    s, z = op(Q + name, x, low, 127, eps, I8, torch_fn=as_exported(name))
    return op(Q + "dequantize_per_tensor.tensor", op(Q + "quantize_per_tensor.tensor", x, s, z, low, 127, I8), s, z, low, 127, I8)


def symmetric(op, x):
    return per_tensor(op, x, -127, True)


def per_token(op, x):
    name = "choose_qparams_per_token_asymmetric"
    s, z = op(Q + name, x, I8, torch_fn=as_exported(name))
    return op(Q + "dequantize_per_token", op(Q + "quantize_per_token", x, s, z, -128, 127, I8), s, z, -128, 127, I8, F32)


def affine(op, x, mapping="ASYMMETRIC"):
    block = [1] * (x.real.dim() - 1) + [x.real.shape[-1]]
    s, z = op("torchao.choose_qparams_affine", x, mapping, block, I8, -128, 127, 1e-6, F32, I8 if mapping == "ASYMMETRIC" else I32)
    return op("torchao.dequantize_affine", op("torchao.quantize_affine", x, block, s, z, I8, -128, 127), block, s, z, I8, -128, 127)


CHOICES = {"tensor": per_tensor, "symmetric": symmetric, "token": per_token}
if torchao: CHOICES["affine"] = affine


# The delegate has a scale a row where the model has one for the whole, and zero points where the model has none: rounding of both, four standard
# deviations over 64 weights below 0.1 and values below 1.
OTHER_ROUNDING = 0.004
EXACT = 2e-5  # of results up to 100


def real(*sizes):
    """Steps so small that few values lie in the middle between two numbers."""
    return T(F32, *sizes, den=1 << 20)


def small(*sizes):
    return T(F32, *sizes, low=-1, high=1, den=1 << 20)


def product(add, name, x, weight, call, b=None, between="", choice=per_token, integers=1, tol=EXACT, **more):
    """range(call(dequantized(quantized(x)), dequantized weight, bias)), x quantized as it runs."""

    def body(op, x, w, b):
        y = call(op, choice(op, x), weight.dequantized(op, w), b)
        return RANGES[between](op, y) if between else y

    add(name, body, x, weight.operands(), b, tol=tol, integers=integers, **more)


class Groups:
    """A weight of 4 bits (or of `bits`) with a scale for every `size` numbers of a row; scales are such that bfloat16 holds them."""

    def __init__(self, n, k, size, zeros=0, bits=4, affine=False):
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        self.size, self.low, self.high, self.affine = size, low, high, affine
        self.numbers = T(I8, n, k, low=low, high=high, weight=True)
        self.scales = T(F32, n, k // size, low=0.0625, high=0.25, den=256, weight=True)
        self.zeros = T(I32 if affine else F32, n, k // size, low=-zeros, high=zeros, den=1, weight=True)

    def operands(self):
        return [self.numbers, self.scales, self.zeros]

    def dequantized(self, op, w):
        if self.affine: return op("torchao.dequantize_affine", w[0], [1, self.size], w[1], w[2], I8, self.low, self.high)
        return op(Q + "dequantize_per_channel_group", *w, self.low, self.high, I8, self.size, F32)


def whole_tensor(add):
    """Scales for the whole tensor: the delegate's are equal where all rows have the same range."""
    for b in None, bias(5):
        label = "bias" if b else "plain"
        for r in RANGES: product(add, f"tensor_{label}_{r}", T(F32, 6, 64, values=full(6, 64)), Weight(5, 64), linear, b, r, per_tensor)
        for name in "tensor", "symmetric":
            product(add, f"{name}_rows_{label}", small(6, 64), Weight(5, 64, scale=0.00025), linear, b, choice=CHOICES[name], tol=OTHER_ROUNDING)
            product(add, f"{name}_range_{label}", small("s0", 64), Weight(5, 64, scale=0.00025), linear, b, choice=CHOICES[name], tol=OTHER_ROUNDING,
                    where={"s0": (1, 9)})
    image = T(F32, 2, 3, 6, 5, values=full(2, 3, 6, 5))
    for r in RANGES: product(add, f"conv2d_{r}", image, Weight(4, 3, 3, 3), conv(padding=1), bias(4), r, per_tensor)
    for name, how, weight in (("plain", dict(), (4, 3, 3, 3)), ("stride", dict(stride=2, padding=1), (4, 3, 3, 3)), ("dilation", dict(dilation=2), (2, 3, 2, 2)),
                              ("sides", dict(padding=[0, 2]), (4, 3, 3, 1)), ("steps", dict(stride=2), (5, 3, 1, 1))):
        product(add, f"conv2d_{name}", image, Weight(*weight), conv(**how), None, choice=per_tensor)
    product(add, "conv2d_groups", T(F32, 2, 4, 5, 5, values=full(2, 4, 5, 5)), Weight(6, 2, 3, 3), conv(groups=2), bias(6), choice=per_tensor)
    product(add, "conv2d_one_image", real(1, 3, 5, 4), Weight(4, 3, 3, 3), conv(padding=1), bias(4), choice=per_tensor)
    product(add, "conv2d_one_scale", real(1, 3, 5, 4), Weight(4, 3, 3, 3, form="tensor"), conv(padding=1), bias(4), choice=per_tensor)
    product(add, "conv2d_layout", T(F32, 1, 3, 5, 4, order="cl", den=1 << 20), Weight(4, 3, 3, 3), conv(padding=1), bias(4), choice=per_tensor)
    product(add, "conv2d_images", small(2, 7, 4, 4), Weight(3, 7, 3, 3, scale=0.00025), conv(padding=1), bias(3), choice=per_tensor, tol=OTHER_ROUNDING)
    product(add, "conv2d_pixels", small(2, 64, 3, 2), Weight(5, 64, 1, 1, scale=0.00025), conv(), bias(5), choice=per_tensor, tol=OTHER_ROUNDING)  # a scale each
    product(add, "conv2d_symmetric", small(2, 7, 4, 4), Weight(3, 7, 3, 3, scale=0.00025), conv(padding=1), bias(3), choice=symmetric, tol=OTHER_ROUNDING)
    product(add, "conv2d_range", real(1, 3, "s0", "s1"), Weight(4, 3, 3, 3), conv(padding=1), bias(4), choice=per_tensor, where={"s0": (1, 6), "s1": (2, 7)})
    # As torch.export writes it, behind an operator that is decomposed.
    add("exported_conv2d", lambda op, x, w, b: op("aten.conv2d", per_tensor(op, op("aten.hardswish", x)), Weight(4, 3, 3, 3).dequantized(op, w), b, [1, 1], [1, 1]),
        real(1, 3, 5, 4), Weight(4, 3, 3, 3).operands(), bias(4), tol=EXACT, integers=1)
    add("exported_linear", lambda op, x, w, b: op("aten.linear", per_token(op, op("aten.square", x)), Weight(5, 8).dequantized(op, w), b),
        T(F32, 3, 8), Weight(5, 8).operands(), bias(5), tol=1e-4, integers=1)
    # With the runtime's kernels.
    product(add, "conv2d_depthwise", real(1, 3, 6, 5), Weight(3, 1, 3, 3), conv(groups=3), bias(3), choice=per_tensor, integers=0)
    product(add, "conv2d_transposed", real(1, 3, 6, 5), Weight(3, 4, 2, 2, axis=1), conv(stride=2, transposed=True), bias(4), choice=per_tensor, integers=0)
    product(add, "conv1d", real(1, 3, 9), Weight(4, 3, 3), conv(spatial=1), bias(4), choice=per_tensor, integers=0)
    product(add, "conv2d_inputs_scales", real(1, 3, 6, 5), Weight(4, 3, 3, 3, axis=1), conv(), bias(4), choice=per_tensor, integers=0)


def rows(add, name, choice):
    """Scales for every row, as the delegate has them."""
    x = real(6, 8)
    for form in "channel", "four":
        for b in None, bias(5):
            for r in RANGES: product(add, f"{name}_{form}_{'bias' if b else 'plain'}_{r}", x, Weight(5, 8, form=form), linear, b, r, choice)
        product(add, f"{name}_{form}_range", real("s0", 8), Weight(5, 8, form=form), linear, bias(5), "relu", choice, where={"s0": (1, 7)})
        product(add, f"{name}_{form}_ranges", real("s0", "s1", 8), Weight(5, 8, form=form), linear, bias(5), "relu", choice, where={"s0": (1, 3), "s1": (2, 7)})
    for sizes in (1,), (7,), (33,), (2, 3), (1, 1), (2, 1, 3): product(add, f"{name}_rows_{sizes}", real(*sizes, 13), Weight(1, 13), linear, bias(1), choice=choice)
    for k in ([1] if name == "token" else []) + [2, 3, 17, 64]: product(add, f"{name}_inner_{k}", real(2, k), Weight(9, k), linear, bias(9), choice=choice)
    for k in 2, 34, 64: product(add, f"{name}_four_{k}", real(3, k), Weight(9, k, form="four"), linear, bias(9), choice=choice)
    product(add, f"{name}_four_odd", real(3, 7), Weight(9, 7, form="four"), linear, bias(9), choice=choice, integers=0)
    product(add, f"{name}_one_scale", x, Weight(5, 8, form="tensor"), linear, bias(5), choice=choice)
    product(add, f"{name}_unequal_zeros", x, Weight(5, 8, zeros=[0, 1, -2, 0, 3]), linear, bias(5), choice=choice, integers=0)
    product(add, f"{name}_inputs_scales", x, Weight(5, 8, axis=1), linear, bias(5), choice=choice, integers=0)
    for label, low, high in ("positive", 1, 4), ("negative", -4, -1), ("nothing", 0, 0), ("tiny", -1e-3, 1e-3), ("large", -2e4, 2e4):  # zero points at the ends
        product(add, f"{name}_{label}", T(F32, 3, 8, low=low, high=high, den=1 << 20), Weight(5, 8), linear, bias(5), choice=choice, tol=max(EXACT, high * 1e-6))
    product(add, f"{name}_swapped_rows", real(2, 8, 3), Weight(5, 8), lambda op, x, w, b: linear(op, x, w, b), bias(5),
            choice=lambda op, x: choice(op, op("aten.permute", x, [0, 2, 1])))
    # Several products of one value, and one product behind the other.
    def three(op, x, *w):
        x = choice(op, x)
        return [op("aten.linear", x, Weight(5, 8).dequantized(op, v)) for v in w]
    add(f"{name}_three_products", three, x, *[Weight(5, 8).operands() for _ in range(3)], tol=EXACT, integers=3)
    def layers(op, x, w, v):
        y = op("aten.relu", op("aten.linear", choice(op, x), Weight(16, 8).dequantized(op, w)))
        return op("aten.linear", choice(op, y), Weight(5, 16).dequantized(op, v))
    add(f"{name}_two_layers", layers, x, Weight(16, 8).operands(), Weight(5, 16).operands(), tol=1e-4, integers=2)


def groups(add, name, choice):
    for affine in [False, True] if torchao else [False]:
        label = f"{name}_groups_{'affine' if affine else 'decomposed'}"
        for size, k in (32, 64), (32, 96), (64, 64), (64, 128), (32, 32):
            for b in None, bias(5): product(add, f"{label}_{size}_{k}_{'bias' if b else 'plain'}", real(3, k), Groups(5, k, size, affine=affine), linear, b, choice=choice)
        for n in 1, 3, 17: product(add, f"{label}_out_{n}", real(2, 64), Groups(n, 64, 32, affine=affine), linear, choice=choice)
        for rows in (1,), (2, 3), (): product(add, f"{label}_rows_{rows}", real(*rows, 64), Groups(5, 64, 32, affine=affine), linear, choice=choice)
        product(add, f"{label}_relu", real(3, 64), Groups(5, 64, 32, affine=affine), linear, bias(5), "relu", choice)
        product(add, f"{label}_range", real("s0", 64), Groups(5, 64, 32, affine=affine), linear, bias(5), choice=choice, where={"s0": (1, 9)})
        # Left to the kernels.
        for size in 8, 16: product(add, f"{label}_{size}", real(3, 64), Groups(5, 64, size, affine=affine), linear, bias(5), choice=choice, integers=0)
        product(add, f"{label}_zeros", real(3, 64), Groups(5, 64, 32, zeros=3, affine=affine), linear, bias(5), choice=choice, integers=0)
        product(add, f"{label}_bytes", real(3, 64), Groups(5, 64, 32, bits=8, affine=affine), linear, bias(5), choice=choice, integers=0, tol=1e-3)


def alike(add):
    """What looks like it: the delegate has 8 bits for each row, of that value alone."""
    x, w = real(6, 8), Weight(5, 8)

    def other(*args, **how):
        product(*args, **{"integers": None, **how})

    def chosen(op, x, low, high, d=I8, name="choose_qparams.tensor"):
        return op(Q + name, x, low, high, 1e-6, d, torch_fn=as_exported(name))

    def through(op, x, s, z, low=-128, high=127, d=I8, s2=None, z2=None, high2=None):
        q = op(Q + "quantize_per_tensor.tensor", x, s, z, low, high, d)
        return op(Q + "dequantize_per_tensor.tensor", q, s2 or s, z2 or z, low, high2 or high, d)

    def bits(low, high, d=I8):
        return lambda op, x: through(op, x, *chosen(op, x, low, high, d), low, high, d)

    other(add, "alike_four_bits", x, w, linear, bias(5), choice=bits(-8, 7))
    other(add, "alike_seven_bits", x, w, linear, bias(5), choice=bits(-64, 63))
    other(add, "alike_other_numbers", x, w, linear, bias(5), choice=bits(-128, 100))
    other(add, "alike_unsigned", T(F32, 6, 8, values=full(6, 8)), w, linear, bias(5), choice=bits(0, 255, U8))
    other(add, "alike_clamped", x, w, linear, bias(5), choice=lambda op, x: through(op, x, *chosen(op, x, -128, 127), -8, 7))
    other(add, "alike_of_another", x, w, linear, bias(5), choice=lambda op, x: through(op, op("aten.relu", x), *chosen(op, x, -128, 127)))
    other(add, "alike_scale_of_another", x, w, linear, bias(5),
            choice=lambda op, x: through(op, x, *chosen(op, x, -128, 127), s2=chosen(op, op("aten.mul.Tensor", x, x), -128, 127)[0]))
    other(add, "alike_zero_of_another", x, w, linear, bias(5),
            choice=lambda op, x: through(op, x, *chosen(op, x, -128, 127), z2=chosen(op, op("aten.mul.Tensor", x, x), -128, 127)[1]))
    other(add, "alike_swapped_zero", x, w, linear, bias(5),
            choice=lambda op, x: through(op, x, chosen(op, x, -128, 127)[0], chosen(op, op("aten.mul.Tensor", x, x), -128, 127)[1]))
    other(add, "alike_token_of_image", real(2, 3, 4, 5), Weight(4, 3, 3, 3), conv(), bias(4), choice=per_token)
    def used_twice(op, x, w, b):
        v = per_token(op, x)
        return op("aten.linear", v, Weight(5, 8).dequantized(op, w), b), v
    add("alike_used_twice", used_twice, x, w.operands(), bias(5), tol=EXACT)
    def scale_used(op, x, w, b):
        s, z = chosen(op, x, -128, 127)
        return op("aten.linear", through(op, x, s, z), Weight(5, 8).dequantized(op, w), b), s
    add("alike_scale_used", scale_used, x, w.operands(), bias(5), tol=EXACT)
    add("alike_sum", lambda op, x, y: op("aten.add.Tensor", per_token(op, x), per_token(op, y)), x, x, tol=EXACT)
    if not torchao: return
    def blocks(block, mapping="ASYMMETRIC", low=-128, high=127):
        def choice(op, x):
            s, z = op("torchao.choose_qparams_affine", x, mapping, block, I8, low, high, 1e-6, F32, I32)
            return op("torchao.dequantize_affine", op("torchao.quantize_affine", x, block, s, z, I8, low, high), block, s, z, I8, low, high)
        return choice
    other(add, "alike_affine_groups", x, w, linear, bias(5), choice=blocks([1, 4]))
    other(add, "alike_affine_columns", x, w, linear, bias(5), choice=blocks([6, 1]))
    other(add, "alike_affine_four_bits", x, w, linear, bias(5), choice=blocks([1, 8], low=-8, high=7))
    product(add, "affine_whole", T(F32, 6, 64, values=full(6, 64)), Weight(5, 64), linear, bias(5), choice=blocks([6, 64]))
    product(add, "affine_symmetric", small(6, 64), Weight(5, 64, scale=0.00025), linear, bias(5), choice=blocks([1, 64], "SYMMETRIC"), tol=OTHER_ROUNDING)
    product(add, "affine_symmetric_whole", small(6, 64), Weight(5, 64, scale=0.00025), linear, bias(5), choice=blocks([6, 64], "SYMMETRIC"), tol=OTHER_ROUNDING)


def beyond(add):
    """Weights whose numbers do not keep the range that they are said to have, scales that bfloat16 does not hold, zero points between numbers."""
    w = Weight(5, 8, form="four")
    w.numbers = T(I8, 5, 8, low=-100, high=100, weight=True)
    product(add, "beyond_four_bits", real(6, 8), w, linear, bias(5))
    g = Groups(5, 64, 32)
    g.numbers, g.scales = T(I8, 5, 64, low=-100, high=100, weight=True), T(F32, 5, 2, low=0.0002, high=0.0005, den=1 << 24, weight=True)
    product(add, "beyond_groups", small(6, 64), g, linear, bias(5), tol=OTHER_ROUNDING, integers=0)
    g = Groups(5, 64, 32)
    g.scales = T(F32, 5, 2, low=0.005, high=0.01, den=1 << 24, weight=True)
    product(add, "fine_group_scales", small(6, 64), g, linear, bias(5), tol=OTHER_ROUNDING)
    g = Groups(5, 64, 32)
    g.zeros = T(F32, 5, 2, low=-2, high=2, den=4, weight=True)
    product(add, "zeros_between", real(6, 64), g, linear, bias(5), integers=0)


def cases(add):
    beyond(add)
    whole_tensor(add)
    for name, choice in ("token", per_token), ("affine", affine):
        if name == "affine" and not torchao: continue
        rows(add, name, choice)
        groups(add, name, choice)
    alike(add)

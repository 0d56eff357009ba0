"""Quantized layers behind each other, as they are exported, as core ATen, and with what the delegate has no integers for."""
from quantcases import *
from graphs.static_products import bias, conv, linear
from graphs.dynamic_products import CHOICES, Groups, OTHER_ROUNDING, per_tensor, per_token, real, small

EXACT = 2e-5


def core_linear(op, x, w, b=None):
    """A linear layer as the decompositions of torch.export leave it."""
    w = op("aten.permute", w, [1, 0])
    return op("aten.addmm", b, x, w) if b else op("aten.mm", x, w)


def core(add):
    for form in "tensor", "channel":
        w = Weight(5, 8, form=form)
        for b in None, bias(5):
            label = f"{form}_{'bias' if b else 'plain'}"
            def static(op, x, v, b, w=w):
                return rounded(op, op("aten.relu", core_linear(op, rounded(op, x, 0.03, 5), w.dequantized(op, v), b)), 0.09, -3)
            add(f"core_static_{label}", static, real(3, 8), w.operands(), b, step=0.09, integers=1)
            add(f"core_weight_{label}", lambda op, x, v, b, w=w: core_linear(op, x, w.dequantized(op, v), b), real(3, 8), w.operands(), b, tol=EXACT, weights=1)
            for name, choice in CHOICES.items():
                if name == "tensor" or name == "symmetric": continue
                def dynamic(op, x, v, b, w=w, choice=choice):
                    return core_linear(op, choice(op, x), w.dequantized(op, v), b)
                add(f"core_dynamic_{name}_{label}", dynamic, real(3, 8), w.operands(), b, tol=EXACT, integers=1)
    g = Groups(5, 64, 32)
    add("core_groups", lambda op, x, v: core_linear(op, per_token(op, x), g.dequantized(op, v)), real(3, 64), g.operands(), tol=EXACT, integers=1)
    for choice, label in (per_tensor, "tensor"), (per_token, "token"):
        w = Weight(5, 64, scale=0.00025)
        add(f"core_three_dims_{label}", lambda op, x, v, w=w, c=choice: op("aten.view", core_linear(op, op("aten.view", c(op, x), [6, 64]), w.dequantized(op, v)), [2, 3, 5]),
            small(2, 3, 64), w.operands(), tol=OTHER_ROUNDING)


def exported(add):
    """Convolutions by the names that models call."""
    def static(op, y):
        return rounded(op, op("aten.relu", y), 0.15, 2)

    image, line, w = real(1, 3, 6, 5), real(1, 3, 9), Weight(4, 3, 3, 3)
    q = lambda op, x: rounded(op, x, 0.03, 5)
    add("exported_static_conv2d", lambda op, x, v, b: static(op, op("aten.conv2d", q(op, x), w.dequantized(op, v), b, [1, 1], [1, 1])), image, w.operands(), bias(4),
        step=0.15, integers=1)
    u = Weight(4, 3, 3)
    add("exported_static_conv1d", lambda op, x, v, b: static(op, op("aten.conv1d", q(op, x), u.dequantized(op, v), b, [1], [1])), line, u.operands(), bias(4),
        step=0.15, integers=1)
    t = Weight(3, 4, 2, 2, axis=1)
    add("exported_static_transposed", lambda op, x, v, b: static(op, op("aten.conv_transpose2d.input", q(op, x), t.dequantized(op, v), b, [2, 2])), image, t.operands(), bias(4),
        step=0.15, integers=1)
    add("exported_weight_conv2d", lambda op, x, v, b: op("aten.conv2d", x, w.dequantized(op, v), b, [1, 1], [1, 1]), image, w.operands(), bias(4), tol=EXACT)
    # A batch norm and arithmetic behind the convolution, before the numbers.
    norm = [T(F32, 4, low=0.5, high=2, weight=True), bias(4), bias(4), T(F32, 4, low=0.5, high=2, weight=True)]
    def with_norm(op, x, v, b, *n):
        return static(op, op("aten.batch_norm", op("aten.conv2d", q(op, x), w.dequantized(op, v), b, [1, 1], [1, 1]), *n, False, 0.1, 1e-5, True))
    add("exported_static_norm", with_norm, image, w.operands(), bias(4), *norm, step=0.15)
    add("exported_static_scale", lambda op, x, v, b: static(op, op("aten.mul.Tensor", op("aten.conv2d", q(op, x), w.dequantized(op, v), b, [1, 1], [1, 1]), 0.5)),
        image, w.operands(), bias(4), step=0.15)


def layers(add):
    first, second, last = Weight(4, 3, 3, 3), Weight(4, 1, 3, 3), Weight(5, 4, scale=0.02)

    def network(op, x, w1, b1, w2, b2, w3, b3, numbers_in=False):
        x = dequantize(op, x, 0.03, 5) if numbers_in else rounded(op, x, 0.03, 5)
        a = rounded(op, op("aten.relu", conv(padding=1)(op, x, first.dequantized(op, w1), b1)), 0.083, -128)
        b = rounded(op, op("aten.hardtanh", conv(padding=1, groups=4)(op, a, second.dequantized(op, w2), b2), 0.0, 6.0), 0.0243, -128)
        s = rounded(op, op("aten.relu", op("aten.add.Tensor", a, b)), 0.097, -128)
        p = rounded(op, op("aten.max_pool2d", s, [2, 2]), 0.097, -128)
        m = rounded(op, op("aten.mean.dim", p, [2, 3], True), 0.051, -128)
        f = rounded(op, op("aten.view", m, [Sym("s0"), 4]), 0.051, -128)
        return rounded(op, linear(op, f, last.dequantized(op, w3), b3), 0.037, 10)

    weights = [first.operands(), bias(4), second.operands(), bias(4), last.operands(), bias(5)]
    # Few steps of the layers before reach the end.
    more = {"where": {"s0": (1, 3)}, "integers": 6}
    add("network", network, real("s0", 3, 6, 4), *weights, tol=0.0371, **more)
    add("network_of_numbers", lambda op, x, *w: network(op, x, *w, numbers_in=True), T(I8, "s0", 3, 6, 4, low=-128, high=127), *weights, tol=0.0371, **more)

    d1, d2 = Weight(16, 8), Weight(5, 16)
    def mixed_layers(op, x, w1, b1, w2, b2):
        """Quantized while it runs, then ahead of time."""
        y = op("aten.relu", linear(op, per_token(op, x), d1.dequantized(op, w1), b1))
        return rounded(op, linear(op, rounded(op, y, 0.05, -128), d2.dequantized(op, w2), b2), 0.083, 3)
    add("mixed", mixed_layers, real(3, 8), d1.operands(), bias(16), d2.operands(), bias(5), step=0.083, integers=2)


def others(add):
    """What the delegate has no integers for: floats there, or the runtime's kernels."""
    w = Weight(5, 8)
    def around(op, x, v, b, low, high, d, zero):
        q = lambda op, y, s: op(Q + "dequantize_per_tensor", op(Q + "quantize_per_tensor", y, s, zero, low, high, d), s, zero, low, high, d)
        return q(op, linear(op, q(op, x, 0.03), w.dequantized(op, v), b), 0.09)
    for label, low, high, d, zero in ("u8", 0, 255, U8, 120), ("i16", -32768, 32767, I16, 0), ("narrow", -127, 127, I8, 0), ("four", -8, 7, I8, 0):
        add(f"around_{label}", lambda op, x, v, b, a=(low, high, d, zero): around(op, x, v, b, *a), real(3, 8), w.operands(), bias(5), step=0.09)
    for label, to in ("wide", (0.09, 3, -128, 127)), ("narrow", (0.09, 0, -127, 127)):
        def one_side(op, x, v, b, to=to):
            q = op(Q + "quantize_per_tensor", linear(op, rounded(op, x, 0.03, 5), w.dequantized(op, v), b), *to, I8)
            return op(Q + "dequantize_per_tensor", q, *to, I8)
        add(f"result_{label}", one_side, real(3, 8), w.operands(), bias(5), step=0.09)
    add("floats_in", lambda op, x, v, b: rounded(op, linear(op, x, w.dequantized(op, v), b), 0.09, 3), real(3, 8), w.operands(), bias(5), step=0.09)
    add("floats_out", lambda op, x, v, b: linear(op, rounded(op, x, 0.03, 5), w.dequantized(op, v), b), real(3, 8), w.operands(), bias(5), tol=EXACT)
    def two_users(op, x, v, b):
        y = linear(op, rounded(op, x, 0.03, 5), w.dequantized(op, v), b)
        return rounded(op, y, 0.09, 3), op("aten.tanh", y)
    add("two_users", two_users, real(3, 8), w.operands(), bias(5), step=0.09)
    def other_scale(op, x, v, b):
        return rounded(op, linear(op, dequantize(op, quantize(op, x, 0.03, 5), 0.031, 4), w.dequantized(op, v), b), 0.09, 3)
    add("read_with_another_scale", other_scale, real(3, 8), w.operands(), bias(5), step=0.09)
    def quantized_bias(op, x, v, b):
        b = op(Q + "dequantize_per_tensor", b, 0.0003, 0, -2**31, 2**31 - 1, I32)
        return rounded(op, linear(op, rounded(op, x, 0.03, 5), w.dequantized(op, v), b), 0.09, 3)
    add("quantized_bias", quantized_bias, real(3, 8), w.operands(), T(I32, 5, low=-3000, high=3000, weight=True), step=0.09)
    add("embedding_rows", lambda op, i, v: op("aten.embedding", w.dequantized(op, v), i), T(I64, 2, 3, low=0, high=4), w.operands())
    for name, f in ("tanh", lambda op, y: op("aten.tanh", y)), ("sigmoid", lambda op, y: op("aten.sigmoid", y)), ("softmax", lambda op, y: op("aten.softmax.int", y, -1)), \
            ("gelu", lambda op, y: op("aten.gelu", y)), ("layer_norm", lambda op, y: op("aten.layer_norm", y, [8])), ("leaky_relu", lambda op, y: op("aten.leaky_relu", y, 0.1)), \
            ("hardswish", lambda op, y: op("aten.hardswish", y)), ("neg", lambda op, y: op("aten.neg", y)), ("mean", lambda op, y: op("aten.mean.dim", y, [1])), \
            ("sum", lambda op, y: op("aten.sum.dim_IntList", y, [1])), ("amax", lambda op, y: op("aten.amax", y, [1])), ("expand", lambda op, y: op("aten.expand", y, [4, 3, 8])):
        add(f"floats_of_{name}", lambda op, x, f=f: rounded(op, f(op, rounded(op, x, 0.03, 5)), 0.0171, -3), real(3, 8), step=0.0171)


def cases(add):
    core(add)
    exported(add)
    layers(add)
    others(add)

"""Parts of quantized graphs: what quantizers put around operators."""
from opcases import *
from torch.ao.quantization.fx import _decomposed  # noqa: F401: registers the operators

try:
    import torchao.quantization.quant_primitives  # noqa: F401: registers the operators
except ImportError:
    torchao = None

Q = "quantized_decomposed."
INT8 = (-128, 127, I8)


# Scales are such that few results lie in the middle between two steps, where kernels round to either.
def quantize(op, x, scale, zero=0):
    return op(Q + "quantize_per_tensor", x, scale, zero, *INT8)


def dequantize(op, q, scale, zero=0):
    return op(Q + "dequantize_per_tensor", q, scale, zero, *INT8)


def rounded(op, x, scale, zero=0):
    """x as numbers, and back."""
    return dequantize(op, quantize(op, x, scale, zero), scale, zero)


class Weight:
    """A constant int8 weight: `form` "tensor" (one scale), "channel" (along `axis`) or "four" (by channels, numbers from -8 to 7)."""

    def __init__(self, *shape, form="channel", axis=0, zeros=None, scale=0.01):
        n, low, high = shape[axis], *((-8, 7) if form == "four" else (-127, 127))
        self.form, self.axis, self.low, self.high, self.scale = form, axis, low, high, scale
        self.numbers = T(I8, *shape, low=low, high=high, weight=True)
        self.scales = T(F32, n, low=scale / 2, high=2 * scale, den=1 << 20, weight=True)
        self.zeros = T(I64, n, values=zeros or [0] * n, weight=True)

    def operands(self):
        return [self.numbers] if self.form == "tensor" else [self.numbers, self.scales, self.zeros]

    def dequantized(self, op, operands):
        if self.form == "tensor": return op(Q + "dequantize_per_tensor", operands[0], self.scale, 0, -127, 127, I8)
        return op(Q + "dequantize_per_channel", *operands, self.axis, self.low, self.high, I8)

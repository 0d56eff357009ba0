"""What is inside the payloads of the XNNPACK delegate, read from a .pte file: as much as tests count."""
import struct

OPERATORS = ("None Add FullyConnected Softmax Sigmoid Transpose Clamp Conv Divide ResizeBilinear ConstantPad AveragePool Minimum DepthwiseConv MaxPool "
             "Multiply Subtract Floor Convert GlobalAveragePool Reshape ArgMaxPool SquareRoot Ceiling Hardswish LeakyRelu Maximum Negate Square Elu Abs "
             "PRelu Concatenate2 Concatenate3 Concatenate4 Slice Attention BatchMatMul Concatenate5 TransposedConv ReciprocalSquareRoot Log Gelu Tanh "
             "Exp Sin Copy Cos").split()


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - struct.unpack_from("<i", data, at)[0]

    def field(self, index):
        size = struct.unpack_from("<H", self.data, self.vtable)[0]
        offset = struct.unpack_from("<H", self.data, self.vtable + 4 + 2 * index)[0] if 4 + 2 * index < size else 0
        return self.at + offset if offset else None

    def byte(self, index):
        at = self.field(index)
        return self.data[at] if at else 0

    def tables(self, index):
        at = self.field(index)
        if not at: return []
        at += struct.unpack_from("<I", self.data, at)[0]
        places = [at + 4 + 4 * i for i in range(struct.unpack_from("<I", self.data, at)[0])]
        return [Table(self.data, p + struct.unpack_from("<I", self.data, p)[0]) for p in places]


def operators(pte):
    """The operators of each payload, in order."""
    out, at = [], pte.find(b"\0\0\0\0XH00")
    while at >= 0:
        graph = at + struct.unpack_from("<I", pte, at + 10)[0]
        root = Table(pte, graph + struct.unpack_from("<I", pte, graph)[0])
        out.append([OPERATORS[node.byte(0)] for node in root.tables(1)])
        at = pte.find(b"\0\0\0\0XH00", at + 8)
    return out

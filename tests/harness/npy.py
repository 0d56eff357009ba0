"""Reads and writes .npy files with nothing but the standard library (C order, the element types that models have)."""
import array, ast, collections, math, struct, sys

Array = collections.namedtuple("Array", "dtype shape data")  # dtype by torch's name; data is flat

_CODES = {  # .npy type -> (torch's name, array or struct code)
    "<f8": ("float64", "d"), "<f4": ("float32", "f"), "<f2": ("float16", "e"), "<i8": ("int64", "q"), "<i4": ("int32", "i"),
    "<i2": ("int16", "h"), "|i1": ("int8", "b"), "|u1": ("uint8", "B"), "<u2": ("uint16", "H"), "<u4": ("uint32", "I"),
    "<u8": ("uint64", "Q"), "|b1": ("bool", "?"),
}


def read(path):
    with open(path, "rb") as f:
        raw = f.read()
    if raw[:6] != b"\x93NUMPY" or raw[6] not in (1, 2):
        raise ValueError(f"{path} is not a .npy file")
    size, start = (struct.unpack_from("<H", raw, 8)[0], 10) if raw[6] == 1 else (struct.unpack_from("<I", raw, 8)[0], 12)
    head = ast.literal_eval(raw[start:start + size].decode("latin1"))
    if head["fortran_order"] and len(head["shape"]) > 1:
        raise ValueError(f"{path} is in Fortran order")
    dtype, code = _CODES[head["descr"]]
    count, body = math.prod(head["shape"]), raw[start + size:]
    if len(body) != count * struct.calcsize(code):
        raise ValueError(f"{path} holds {len(body)} bytes, its shape {head['shape']} needs {count * struct.calcsize(code)}")
    if code in "e?" or sys.byteorder != "little":
        data = struct.unpack(f"<{count}{code}", body)
    else:
        data = array.array(code)
        data.frombytes(body)
    return Array(dtype, list(head["shape"]), data)


def write(path, dtype, shape, data):
    descr, code = next((k, c) for k, (name, c) in _CODES.items() if name == dtype)
    head = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(data)}{code}", *data))


def bfloat16_as_float(data):
    """bfloat16 travels as uint16: the upper half of a float32."""
    return [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in data]

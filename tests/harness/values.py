"""Tensor elements that follow from a seed, the same with and without torch; and results in short form.

An input is a dict: {kind, dtype, shape, low, high, seed}, integers of low..high, or floats of that range in steps of 1/4096;
{..., start}: start, start + 1, ... (positions). A result's short form holds some elements and, over all of them, the sums of
values and of absolute values (floats: finite ones).
"""
import array, math, pathlib
import npy

MASK = (1 << 64) - 1
SAMPLES = 40
STEP = 4096


def mixed(seed, i):
    z = (seed * 0x9E3779B97F4A7C15 + (i + 1) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def is_float(dtype):
    return "float" in dtype


def elements(spec):
    count = math.prod(spec["shape"])
    if "start" in spec:
        return [spec["start"] + i for i in range(count)]
    low, high, seed = spec["low"], spec["high"], spec["seed"]
    if is_float(spec["dtype"]):
        low, high = math.ceil(low * STEP), math.floor(high * STEP)
        return [(low + mixed(seed, i) % (high - low + 1)) / STEP for i in range(count)]
    made = [low + mixed(seed, i) % (high - low + 1) for i in range(count)]
    return [bool(v) for v in made] if spec["dtype"] == "bool" else made


def write_input(path, spec):
    """The argument of `edgec run --inputs` for an input; tensors go to a file."""
    if spec["kind"] != "tensor":
        return "none" if spec["kind"] == "none" else str(spec["value"]).lower()
    dtype, data = spec["dtype"], elements(spec)
    if dtype == "bfloat16":
        dtype, data = "uint16", [array.array("I", array.array("f", [v]).tobytes())[0] >> 16 for v in data]
    npy.write(path, dtype, spec["shape"], data)
    return str(path)


def places(count):
    """Which elements the short form holds: the first, the last and some between."""
    if count <= SAMPLES:
        return list(range(count))
    return sorted({0, count - 1, *(mixed(count, i) % count for i in range(SAMPLES - 2))})


def short_form(dtype, shape, data):
    data = [float(v) if is_float(dtype) else int(v) for v in data]
    finite = [v for v in data if math.isfinite(v)]
    form = {"kind": "tensor", "dtype": dtype, "shape": list(shape), "values": [data[i] for i in places(len(data))],
            "sum": math.fsum(finite) if is_float(dtype) else sum(data), "absolute": math.fsum(map(abs, finite))}
    if is_float(dtype):
        for key in ("sum", "absolute"): form[key] = float(f"{form[key]:.7g}")
        form["values"] = [float(f"{v:.6g}") if math.isfinite(v) else str(v) for v in form["values"]]
    return form


def differs(got, want, atol, rtol=1e-3):
    """Two short forms: where they differ, in words; None when they agree."""
    for key in ("dtype", "shape"):
        if got[key] != want[key]:
            return f"{key} {got[key]} instead of {want[key]}"
    exact = not is_float(want["dtype"])
    for at, x, y in zip(places(math.prod(want["shape"])), got["values"], want["values"]):
        if x == y:
            continue
        if exact or isinstance(x, str) or isinstance(y, str) or abs(x - y) > atol + rtol * abs(y):
            return f"element {at} is {x} instead of {y}"
    slack = 0 if exact else atol * math.prod(want["shape"]) + rtol * want["absolute"]
    for key in ("sum", "absolute"):
        if abs(got[key] - want[key]) > slack:
            return f"the elements' {key} is {got[key]} instead of {want[key]}"
    return None


def read_short_form(path, dtype):
    a = npy.read(pathlib.Path(path))
    data = npy.bfloat16_as_float(a.data) if dtype == "bfloat16" else a.data
    return short_form(dtype, a.shape, data)

"""The model folders: model.pt2, meta.json (calls with inputs and torch's outputs), .npy files; checks.json for more demands.

checks.json, all parts optional:
  options            for `edgec compile`
  refused_options    [{options, message: [regular expressions]}]: compiling so ends with exit code 1 and such a message
  absent_operators   names that must not occur in the program
  atol_with_backend  {backend: tolerance}
  most_in_payloads   {backend: {operator of the payload: count}}
  refused_shapes     [{why, shapes: one per tensor input}]: a call with such (zero-filled) inputs ends with exit code 1
"""
import json, math, os, pathlib, shutil
import npy

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("EDGEC_SHARED", ROOT.parent / "shared"))
LARGE = pathlib.Path(os.environ.get("EDGEC_LARGE_MODELS", pathlib.Path.home() / "large"))  # a few models too large for the corpus
OWN = ROOT / "tests/models/data"


def find(name):
    """The folder of a model: the repository's own copy, else the one in the shared corpus; None where neither is here."""
    for folder in (OWN / name, SHARED / "models" / name, SHARED / "models-old" / name, SHARED / "models-torch-2.14" / name.removeprefix("torch-2.14/")):
        if (folder / "model.pt2").exists():
            return folder
    return None


def read_list(path):
    lines = (line.split("#")[0].strip() for line in pathlib.Path(path).read_text().splitlines())
    return [line for line in lines if line]


def meta_of(case):
    return json.loads((case / "meta.json").read_text())


def checks_of(case):
    own = OWN / case.name / "checks.json"
    return json.loads(own.read_text()) if own.exists() else {}


def argument(case, value):
    """An input as `edgec run --inputs` takes it."""
    if value["kind"] == "tensor":
        return str(case / value["file"])
    return "none" if value["kind"] == "none" else str(value["value"]).lower()


def run_command(edgec, case, meta, pte, out):
    command = [edgec, "run", pte, "--output-dir", out]
    for call in meta["calls"]:
        command += ["--inputs", ",".join(argument(case, v) for v in call["inputs"])]
    return command


def difference(got, want, atol, rtol=1e-3):
    """Where two arrays differ, in words; None when they agree within the tolerance (NaN agrees with NaN)."""
    a, b = got.data, want.data
    bad, worst, place = 0, 0.0, 0
    for i in range(len(b)):
        x, y = float(a[i]), float(b[i])
        if x == y or (x != x and y != y):
            continue
        gap = abs(x - y)
        if not gap <= atol + rtol * abs(y) or math.isinf(x) or math.isinf(y):
            bad += 1
            if not gap <= worst:
                worst, place = gap, i
    return f"{bad} of {len(b)} elements, most at {place}: {a[place]} instead of {b[place]}" if bad else None


def compare_tensor(got_file, got, case, want, meta, atol):
    if got["dtype"] != want["dtype"] or got["shape"] != want["shape"]:
        return f"is {got['dtype']}{got['shape']}, expected {want['dtype']}{want['shape']}"
    a, b = npy.read(got_file), npy.read(case / want["file"])
    if len(a.data) != math.prod(want["shape"]) or len(b.data) != len(a.data):
        return f"its file holds {len(a.data)} elements, expected shape {want['shape']}"
    if meta.get("random_outputs"):
        return None
    if want["dtype"] == "bfloat16":
        a, b = (x._replace(data=npy.bfloat16_as_float(x.data)) for x in (a, b))
    gap = difference(a, b, max(atol, meta.get("atol", 0)))
    return f"differs: {gap}" if gap else None


def compare(case, meta, out, atol=1e-3):
    """What `edgec run` wrote against torch's outputs. None, or the first difference in words."""
    got = json.loads((out / "outputs.json").read_text())["calls"]
    if len(got) != len(meta["calls"]):
        return f"outputs.json has {len(got)} calls, made were {len(meta['calls'])}"
    for k, call in enumerate(meta["calls"]):
        if k in meta.get("ignore_calls", []):
            continue
        outputs = got[k]["outputs"]
        if len(outputs) != len(call["expected"]):
            return f"call {k}: {len(outputs)} outputs, expected {len(call['expected'])}"
        for i, (o, e) in enumerate(zip(outputs, call["expected"])):
            fault = None
            if o["kind"] != e["kind"]:
                fault = f"is {o['kind']}, expected {e['kind']}"
            elif e["kind"] == "tensor":
                fault = compare_tensor(out / str(k) / f"{i}.npy", o, case, e, meta, atol)
            elif e["kind"] != "none" and not meta.get("random_outputs"):
                if abs(o["value"] - e["value"]) > 1e-4 * max(1, abs(e["value"])):
                    fault = f"is {o['value']}, expected {e['value']}"
            if fault:
                return f"call {k} output {i} {fault}"
        for changed in call.get("mutated_inputs", []):
            i = changed["input"]
            fault = compare_tensor(out / str(k) / "mutated" / f"{i}.npy", call["inputs"][i], case,
                                   {**call["inputs"][i], "file": changed["file"]}, meta, atol)
            if fault:
                return f"call {k} written input {i} {fault}"
    return None


def zeros(folder, meta, shapes):
    """Files of zeros of the given shapes for the tensor inputs of the first call; the arguments for --inputs."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arguments, left = [], list(shapes)
    for i, v in enumerate(meta["calls"][0]["inputs"]):
        if v["kind"] != "tensor":
            arguments.append(argument(folder, v))
            continue
        shape, dtype = left.pop(0), "uint16" if v["dtype"] == "bfloat16" else v["dtype"]
        npy.write(folder / f"{i}.npy", dtype, shape, [0] * math.prod(shape))
        arguments.append(str(folder / f"{i}.npy"))
    return ",".join(arguments)

#!/usr/bin/env python3
"""Asks torch about random graphs: does it take each call, and are dtype, sizes and values of the results those of edgec?

  edgec_random_graphs --seeds 0..500 --print | check_with_torch.py [--all]       types
  edgec_random_graphs --seeds 0..500 --values | check_with_torch.py [--all]      values too

Calls that torch refuses show where the generator's hints are too wide; other types are faults of table entries. Each graph is run at
the least sizes of its symbols. Prints one example a cause, the most frequent last.
"""
import argparse, collections, math, re, sys, warnings
import torch

warnings.filterwarnings("ignore")
DTYPES = {"bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
NAMES = {v: k for k, v in DTYPES.items()}
FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last, "channels_last_3d": torch.channels_last_3d,
           "preserve": torch.preserve_format}
TYPE = re.compile(r"(\w+)\[([^\]]*)\](?:\{([\d,]+)\})?$")


def split(text, separator=","):
    """At the top level only."""
    out, depth, at, quoted = [], 0, 0, False
    for i, c in enumerate(text):
        if c == '"': quoted = not quoted
        if quoted: continue
        if c in "([{": depth += 1
        if c in ")]}": depth -= 1
        if c == separator and depth == 0:
            out.append(text[at:i].strip())
            at = i + 1
    last = text[at:].strip()
    return out + [last] if last else out


def number(text, sizes):
    return eval(text.replace("true", "True"), {"max": max, "min": min, "where": lambda c, a, b: a if c else b}, dict(sizes))


def tensor_of(name, text, sizes):
    dtype, dims, order = TYPE.match(text).groups()
    shape = [number(d, sizes) for d in split(dims)]
    dtype = DTYPES[dtype]
    generator = torch.Generator().manual_seed(hash(name) % 1000)
    below = re.match(r"below(\d+)_", name)
    if below: t = torch.randint(0, max(int(below[1]), 1), shape, generator=generator)
    elif name.startswith("positive_"): t = torch.randint(1, 5, shape, generator=generator)
    elif name.startswith("unit_"): t = torch.rand(shape, generator=generator) * 0.9 + 0.05
    elif dtype == torch.bool: t = torch.randint(0, 2, shape, generator=generator)
    else: t = torch.randint(-64, 64, shape, generator=generator) / 16 if dtype.is_floating_point else torch.randint(0, 9, shape, generator=generator)
    if name.startswith("sorted_"): t = t.sort()[0]
    t = t.to(dtype)
    return t.contiguous(memory_format=torch.channels_last) if order == "0,2,3,1" and t.dim() == 4 else t


def argument(text, values, sizes):
    if text.startswith("%"): return values[text[1:]]
    if text.startswith("["): return [argument(a, values, sizes) for a in split(text[1:-1])]
    if text.startswith("{"): return number(text[1:-1], sizes)
    if text.startswith('"'): return text[1:-1]
    if text in ("none", "true", "false"): return {"none": None, "true": True, "false": False}[text]
    if text in DTYPES: return DTYPES[text]
    if text in FORMATS: return FORMATS[text]
    return number(text, sizes)


def torch_op(name):
    parts = name.split(".")
    return getattr(getattr(getattr(torch.ops, parts[0]), parts[1]), parts[2] if len(parts) > 2 else "default")


TOLERANCE = {"f16": (2e-2, 2e-3), "bf16": (1e-1, 2e-2), "f32": (1e-4, 1e-4), "f64": (1e-7, 1e-7)}


def tensor_from(text):
    head, _, data = text.partition(":")
    dtype, *shape = head.split()
    shape = [int(d) for d in shape[0].split(",")] if shape else []
    numbers = [float(v) if dtype[0] in "fb" and dtype != "bool" else int(float(v)) if dtype == "bool" else int(v) for v in data.split()]
    kind = torch.float64 if DTYPES[dtype].is_floating_point else torch.int64
    return torch.tensor(numbers, dtype=kind).to(DTYPES[dtype]).reshape(shape)


def differs(got, want):
    """In words; None when they agree."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{NAMES.get(got.dtype)}{list(got.shape)}"
    rtol, atol = TOLERANCE.get(NAMES[want.dtype], (0, 0))
    same = torch.isclose(got.double(), want.double(), rtol=rtol, atol=atol, equal_nan=True)
    if same.all(): return None
    i = int((~same.reshape(-1)).nonzero()[0])
    return f"element {i} is {got.reshape(-1)[i].item()} instead of {want.reshape(-1)[i].item()}"


class Refused(Exception):
    pass


def call(op, args, kwargs):
    try:
        return torch_op(op)(*args, **kwargs)
    except Exception as e:
        # Strides that the table does not follow.
        if op in ("aten.view", "aten._unsafe_view"): return args[0].reshape(args[1])
        raise Refused(str(e).splitlines()[0])


def fresh_inputs(text, sizes):
    values = {}
    for name, kind in re.findall(r"%(\w+): (\w+\[[^\]]*\](?:\{[\d,]+\})?) = ", text):
        values[name] = tensor_of(name, kind, sizes)
    return values


def run(text, values, sizes, report):
    """The graph with torch: all results are in `values`. Whether it went through."""
    made = []
    for line in text.splitlines():
        line = line.strip()
        m = re.match(r"((?:%\w+(?:, )?)+) = ([\w.]+)\((.*)\) : (.*)$", line)
        if not m: continue
        results, op, arguments, types = [r.strip()[1:] for r in m[1].split(",")], m[2], split(m[3]), split(m[4])
        named, positional = {}, []
        for a in arguments:
            k = re.match(r"(\w+)=(?!=)(.*)$", a)
            if k: named[k[1]] = argument(k[2], values, sizes)
            else: positional.append(argument(a, values, sizes))
        try:
            out = call(op, positional, named)
        except Refused as e:
            report("refused", op, re.sub(r"-?\d+(\.\d+)?", "#", str(e))[:110], line)
            return None
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        for r, kind, v in zip(results, types, out):
            values[r] = v
            made.append((r, op, line))
            t = TYPE.match(kind)
            if not t or not isinstance(v, torch.Tensor): continue
            want = [number(d, sizes) for d in split(t[2])]
            if NAMES.get(v.dtype) != t[1]: report("dtype", op, f"torch gives {NAMES.get(v.dtype)}", line)
            elif list(v.shape) != want: report("sizes", op, f"torch gives {list(v.shape)}", line)
            else: continue
            return None
    return made


def returned(text):
    m = re.search(r"^  return (.*)$", text, flags=re.M)
    return [a.split()[0][1:] for a in split(m[1])] if m else []


def sizes_from_inputs(text, values):
    sizes = {}
    for name, kind in re.findall(r"%(\w+): (\w+\[[^\]]*\])", text):
        for d, n in zip(split(TYPE.match(kind)[2]), values[name].shape if name in values else []):
            if re.fullmatch(r"[a-z]\w*", d): sizes[d] = n
    return sizes


def check_values(text, report):
    graph, *calls = text.split("# call\n")
    weights = {m[1]: tensor_from(m[2]) for m in re.finditer(r"^# weight (\w+) (.*)$", graph, flags=re.M)}
    for k, lines in enumerate(calls):
        values = {**weights, **{m[1]: tensor_from(m[2]) for m in re.finditer(r"^# in (\w+) (.*)$", lines, flags=re.M)}}
        orders = dict(re.findall(r"%(\w+): \w+\[[^\]]*\]\{([\d,]+)\} = input", graph))
        for name, order in orders.items():
            if order == "0,2,3,1" and name in values: values[name] = values[name].contiguous(memory_format=torch.channels_last)
        made = run(graph, values, sizes_from_inputs(graph, values), report)
        got = re.findall(r"^# out (.*)$", lines, flags=re.M)
        if made is None or "# refused" in lines: return
        names = returned(graph)
        got = got[len(got) - len(names):]  # new values of inputs come first
        of = {r: (op, line) for r, op, line in made}
        for name, out in zip(names, got):
            if out == "number" or not isinstance(values[name], torch.Tensor): continue
            if fault := differs(tensor_from(out), values[name]):
                op, line = of[name]
                report("value", op, "", f"call {k}: %{name}: {fault}\n            {line}")
                return
    report("ok", "", "", "")


def check(text, report):
    if "# call" in text: return check_values(text, report)
    sizes = {s: int(low) for s, low in re.findall(r"(\w+) in (\d+)\.\.", text)}
    if run(text, fresh_inputs(text, sizes), sizes, report) is not None: report("ok", "", "", "")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--all", action="store_true", help="every example, not one a cause")
    a = p.parse_args()
    causes = collections.Counter()
    examples = {}
    for text in re.split(r"^# seed ", sys.stdin.read(), flags=re.M)[1:]:
        seed = text.split("\n")[0]

        def report(kind, op, why, line):
            causes[kind, op, why] += 1
            if a.all and kind != "ok": print(f"seed {seed}: {kind}: {op}: {why}\n    {line}")
            examples.setdefault((kind, op, why), f"seed {seed}: {line}")

        try:
            check(text, report)
        except Exception as e:
            report("error", type(e).__name__, str(e)[:80], "")
    for (kind, op, why), n in reversed(causes.most_common()):
        print(f"{n:5} {kind:8}{op}: {why}\n            {examples[kind, op, why]}")


if __name__ == "__main__":
    main()

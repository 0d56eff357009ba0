#!/usr/bin/env python3
"""Asks torch about random graphs: does it take each call, and are dtype and sizes of the results those of the table?

  edgec_random_graphs --seeds 0..500 --print | check_with_torch.py [--all]

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


class Refused(Exception):
    pass


def call(op, args, kwargs):
    try:
        return torch_op(op)(*args, **kwargs)
    except Exception as e:
        # Strides that the table does not follow.
        if op in ("aten.view", "aten._unsafe_view"): return args[0].reshape(args[1])
        raise Refused(str(e).splitlines()[0])


def check(text, report):
    head, _, body = text.partition(") {\n") if ") {\n" in text else text.partition("{\n")
    facts = dict((s, int(low)) for s, low in re.findall(r"(\w+) in (\d+)\.\.", text))
    sizes = {s: v for s, v in facts.items()}
    values = {}
    for name, kind in re.findall(r"%(\w+): (\w+\[[^\]]*\](?:\{[\d,]+\})?) = ", text):
        values[name] = tensor_of(name, kind, sizes)
    for line in text.splitlines():
        line = line.strip()
        m = re.match(r"((?:%\w+(?:, )?)+) = ([\w.]+)\((.*)\) : (.*)$", line)
        if not m: continue
        results, op, arguments, types = [r.strip()[1:] for r in m[1].split(",")], m[2], split(m[3]), split(m[4])
        named = {}
        positional = []
        for a in arguments:
            k = re.match(r"(\w+)=(?!=)(.*)$", a)
            if k: named[k[1]] = argument(k[2], values, sizes)
            else: positional.append(argument(a, values, sizes))
        try:
            out = call(op, positional, named)
        except Refused as e:
            report("refused", op, re.sub(r"-?\d+(\.\d+)?", "#", str(e))[:110], line)
            return
        out = list(out) if isinstance(out, (list, tuple)) else [out]
        for r, kind, v in zip(results, types, out):
            values[r] = v
            t = TYPE.match(kind)
            if not t or not isinstance(v, torch.Tensor): continue
            want = [number(d, sizes) for d in split(t[2])]
            if NAMES.get(v.dtype) != t[1]: report("dtype", op, f"torch gives {NAMES.get(v.dtype)}", line)
            if list(v.shape) != want: report("sizes", op, f"torch gives {list(v.shape)}", line)
            if NAMES.get(v.dtype) != t[1] or list(v.shape) != want: return
    report("ok", "", "", "")


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

#!/usr/bin/env python3
"""Torch's results at the lowest and highest sizes of every dynamic dim: tests/models/bounds/<model>.json for run_bounds.py.

  make_bounds.py [MODEL]...      torch 2.13; default: all models at hand with dynamic dims

For each model the exported program is loaded and called with all symbols at their least, all at their greatest, and each at its
greatest while the others are at their least. Inputs follow from a seed (tests/harness/values.py), in the range of the values that
the model's recorded inputs have; results are kept in short form. Where torch refuses a
call (a guard excludes the end itself), the nearest sizes that it takes are used.
"""
import argparse, json, pathlib, re, sys, warnings

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import cases, npy, values

warnings.filterwarnings("ignore")
import torch
from torch.utils import _pytree as pytree

OUT = HERE / "bounds"


def symbols_of(meta, options):
    """{symbol: (least, greatest)} of sizes and of unbacked numbers; open ends by the options of compile."""
    bound = {m[1]: int(m[2]) for o in options if (m := re.fullmatch(r"(\w+)=(\d+)", o))}
    everything = next((int(options[i + 1]) for i, o in enumerate(options[:-1]) if o == "--bound" and options[i + 1].isdigit()), None)
    found = {}
    for name, (low, high) in meta["ranges"].items():
        if re.fullmatch(r"\w+", name):
            found[name] = (low, high if high is not None else bound.get(name, everything))
    return found


def combinations(symbols):
    low = {s: r[0] for s, r in symbols.items()}
    high = {s: r[1] for s, r in symbols.items()}
    every = [low, high] + [{**low, s: high[s]} for s in symbols if len(symbols) > 1]
    return [dict(t) for t in dict.fromkeys(tuple(sorted(c.items())) for c in every)]


def inward(sizes, symbols):
    """The same sizes, and then others up to 2 steps away from the ends, for guards that exclude an end itself."""
    yield sizes
    for step in (1, 2):
        moved = {s: min(v + step, r[1]) if v == r[0] else max(v - step, r[0]) for (s, v), r in zip(sizes.items(), (symbols[s] for s in sizes))}
        for s in sizes:
            yield {**sizes, s: moved[s]}
        yield moved


def number(expression, sizes):
    return expression if isinstance(expression, int) else int(eval(expression, {}, dict(sizes)))


def recorded(case, meta, i):
    """All recorded calls' elements of a tensor input."""
    every = [npy.read(case / c["inputs"][i]["file"]) for c in meta["calls"] if c["inputs"][i]["kind"] == "tensor"]
    return [npy.bfloat16_as_float(a.data) if meta["calls"][0]["inputs"][i]["dtype"] == "bfloat16" else list(a.data) for a in every]


def input_at(case, meta, i, sizes, seed):
    first, symbolic = meta["calls"][0]["inputs"][i], meta["inputs"][i]["symbolic"]
    if first["kind"] == "int" and isinstance(symbolic, str):
        return {"kind": "int", "value": number(symbolic, sizes)}
    if first["kind"] != "tensor":
        return {k: v for k, v in first.items() if k in ("kind", "value")}
    seen = recorded(case, meta, i)
    spec = {"kind": "tensor", "dtype": first["dtype"], "shape": [number(d, sizes) for d in symbolic]}
    flat = [v for data in seen for v in data]
    low, high = min(flat, default=0), max(flat, default=1)
    unbacked = [s for s in sizes if s.startswith("u")]
    if unbacked and len(spec["shape"]) <= 1 and seen and len(seen[0]) == 1 and not values.is_float(spec["dtype"]):
        return {**spec, "start": sizes[unbacked[0]]}
    if len(spec["shape"]) == 1 and not values.is_float(spec["dtype"]) and all(list(d) == list(range(d[0], d[0] + len(d))) for d in seen if d):
        return {**spec, "start": int(seen[0][0])}
    if not values.is_float(spec["dtype"]):
        low, high = int(low), int(high)
    return {**spec, "low": low, "high": high, "seed": seed}


def torch_input(spec, first):
    if spec["kind"] != "tensor":
        return spec.get("value")
    t = torch.tensor(values.elements(spec), dtype=torch.float64 if values.is_float(spec["dtype"]) else None)
    t = t.to(getattr(torch, spec["dtype"])).reshape(spec["shape"])
    stride = first.get("stride", [])
    if t.dim() == 4 and len(stride) == 4 and stride[1] == 1 and stride[3] != 1:
        t = t.contiguous(memory_format=torch.channels_last)
    return t


def short_output(v):
    if isinstance(v, torch.Tensor):
        return values.short_form(str(v.dtype).removeprefix("torch."), v.shape, v.detach().reshape(-1).to(torch.float64 if v.is_floating_point() else v.dtype).tolist())
    if v is None:
        return {"kind": "none"}
    return {"kind": type(v).__name__, "value": v}


def call_at(case, meta, program, module, sizes, k):
    """The call as it is kept, or why torch refuses it."""
    specs = [input_at(case, meta, i, sizes, 1000 * k + i + 1) for i in range(len(meta["inputs"]))]
    given = [torch_input(s, f) for s, f in zip(specs, meta["calls"][0]["inputs"])]
    before = [t.clone() if isinstance(t, torch.Tensor) else t for t in given]
    args, kwargs = pytree.tree_unflatten(given, program.call_spec.in_spec)
    try:
        with torch.no_grad():
            outputs = pytree.tree_leaves(module(*args, **kwargs), is_leaf=lambda v: v is None)
    except Exception as e:
        return str(e).splitlines()[0][:100]
    call = {"sizes": sizes, "inputs": specs, "expected": [short_output(v) for v in outputs]}
    written = [i for i, (a, b) in enumerate(zip(given, before)) if isinstance(a, torch.Tensor) and not torch.equal(a, b)]
    if written:
        call["mutated_inputs"] = [{"input": i, "expected": short_output(given[i])} for i in written]
    return call


def make(name):
    case = cases.find(name)
    meta = cases.meta_of(case)
    if meta.get("random_outputs"):
        return None
    symbols = symbols_of(meta, cases.checks_of(case).get("options", []))
    if not symbols:
        return None
    program = torch.export.load(str(case / "model.pt2"))
    module, calls, refused = program.module(), [], []
    for k, corner in enumerate(combinations(symbols)):
        for sizes in inward(corner, symbols):
            made = call_at(case, meta, program, module, sizes, k)
            if not isinstance(made, str):
                calls.append(made)
                break
            refused.append(f"{sizes}: {made}")
    return {"atol": meta.get("atol", 0), "refused": refused, "calls": calls}


def names_at_hand():
    found = {p.parent.name for root in (cases.OWN, cases.SHARED / "models") for p in root.glob("*/model.pt2")}
    return sorted(found)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*")
    OUT.mkdir(exist_ok=True)
    for name in p.parse_args().models or names_at_hand():
        try:
            made = make(name)
        except Exception as e:
            print(f"{name:28}{type(e).__name__}: {str(e).splitlines()[0][:150]}")
            continue
        if not made:
            continue
        text = ",\n ".join(json.dumps(c) for c in made["calls"])
        (OUT / f"{name}.json").write_text(f'{{"atol": {made["atol"]}, "refused": {json.dumps(made["refused"])}, "calls": [\n {text}\n]}}\n')
        print(f"{name:28}{len(made['calls'])} calls" + "".join(f"\n    torch refuses {r}" for r in made["refused"]))


if __name__ == "__main__":
    main()

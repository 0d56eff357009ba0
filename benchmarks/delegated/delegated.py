#!/usr/bin/env python3
"""What goes to the XNNPACK delegate, beside the Python flow: share of nodes, delegates, operators left to kernels, size of the program.

  delegated.py [MODEL...] [--edgec FILE] [--models DIR] [--keep FOLDER] [--json]

DIR holds <model>/model.pt2 and official.json, which says for which models the Python flow's program is right: only with those edgec is
compared. Its programs are made once and kept (--keep; below build/ by default). Exit code 1 when edgec gives away a smaller share
of the nodes, cuts a model into more delegates, or writes a larger program than the Python flow on a model where that one's program is right.

How it is counted. A node is an operator of the Edge graph: taken by a delegate, or left. Where the delegate's graph has more nodes for an
operator than one (it was composed), these count, as the Python flow counts what it decomposed. Kernel calls are those of the
program, arithmetic on sizes and views that move nothing aside. Sizes are those of programs without what the Python flow's do not hold:
guards of sizes (--no-guards) and initial state, that is its bytes and the tables that say where it lies (112 bytes, 12 more a tensor).
"""
import argparse, collections, json, pathlib, subprocess, sys, tempfile
from importlib.machinery import SourceFileLoader

ROOT = pathlib.Path(__file__).resolve().parents[2]
run = SourceFileLoader("run", str(ROOT / "benchmarks/run")).load_module()

THEIRS = r'''
import json, logging, os, pathlib, sys
logging.disable(50)
import torch
import executorch.kernels.quantized
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.backend_debug import get_delegation_info
from executorch.exir import to_edge_transform_and_lower
torch.set_num_threads(1)
keep = pathlib.Path(sys.argv[1])
for model in map(pathlib.Path, sys.argv[2:]):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    try:
        with torch.no_grad():
            lowered = to_edge_transform_and_lower(torch.export.load(model / "model.pt2"), partitioner=[XnnpackPartitioner()])
            info = get_delegation_info(lowered.exported_program().graph_module)
            (keep / (model.name + ".pte")).write_bytes(lowered.to_executorch().buffer)
        counts = {"taken": info.num_delegated_nodes, "left": info.num_non_delegated_nodes}
    except BaseException as e:
        counts = {"error": type(e).__name__}
    (keep / (model.name + ".json")).write_text(json.dumps(counts))
    os._exit(0)
'''
NO_KERNEL = ("executorch_prim::", "aten::sym_")
STATE_TABLES, STATE_ENTRY = 112, 12


def of_program(edgec, pte, state_bytes=0):
    """Delegates, kernel calls and counted bytes of all methods."""
    text = subprocess.run([edgec, "inspect", "--json", pte], capture_output=True, check=True).stdout
    said = json.loads(text)
    methods, states = said["methods"], len(said["initial_states"])
    calls = sum(o["calls"] for m in methods for o in m["operators"] if not o["name"].startswith(NO_KERNEL))
    uncounted = state_bytes + STATE_TABLES + STATE_ENTRY * states if states else 0
    return {"delegates": sum(len(m["delegates"]) for m in methods), "calls": calls, "bytes": pte.stat().st_size - uncounted}


def ours(edgec, model, tmp):
    pte, report = tmp / "model.pte", tmp / "report.json"
    command = [edgec, "compile", model / "model.pt2", "-o", pte, "--quiet", "--backend", "xnnpack", "--no-guards", "--report", report]
    if subprocess.run(command, capture_output=True).returncode:
        subprocess.run([*command, "--bound", "512"], capture_output=True, check=True)
    said = json.loads(report.read_text())
    taken = left = 0
    for m in said["methods"]:
        left += len(m["undelegated"])
        for d in m["delegates"]:
            taken += max(d["nodes"], len({h["handle"] for h in d["handles"]}))
    return {"taken": taken, "left": left, **of_program(edgec, pte, said["state_bytes"])}


def theirs(edgec, model, keep):
    counts, pte = json.loads((keep / f"{model.name}.json").read_text()), keep / f"{model.name}.pte"
    return None if "error" in counts else {**counts, **of_program(edgec, pte)}


def share(x):
    return x["taken"] / (x["taken"] + x["left"]) if x["taken"] else 0.0


def faults(o, t):
    return [what for what, worse in (("share", share(o) < share(t)), ("delegates", o["delegates"] > t["delegates"]),
                                     ("bytes", o["bytes"] > t["bytes"])) if worse]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="MODEL")
    p.add_argument("--edgec", default=str(ROOT / "build/release/bin/edgec"))
    p.add_argument("--models", type=pathlib.Path, default=run.cases.SHARED / "models")
    p.add_argument("--keep", type=pathlib.Path, default=ROOT / "build/delegated")
    p.add_argument("--json", action="store_true")
    a = p.parse_args()
    a.keep.mkdir(parents=True, exist_ok=True)
    official = json.loads((a.models / "official.json").read_text())["models"]
    models = [a.models / n for n in a.names] if a.names else sorted(f.parent for f in a.models.glob("*/model.pt2"))
    if missing := [m for m in models if not (a.keep / f"{m.name}.json").exists()]:
        subprocess.run([run.python_of_the_flow(), "-c", THEIRS, a.keep, *missing], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    rows = []
    with tempfile.TemporaryDirectory() as tmp:
        for model in models:
            right = official.get(model.name, {}).get("xnnpack", {}).get("works", False)
            rows.append((model.name, ours(a.edgec, model, pathlib.Path(tmp)), theirs(a.edgec, model, a.keep) if right else None))
    found = {name: faults(o, t) for name, o, t in rows if t}
    if a.json:
        print(json.dumps([{"model": n, "edgec": o, "python": t, "worse": found.get(n)} for n, o, t in rows], indent=1))
    else:
        print(f"{'model (edgec, Python flow)':28}{'share of nodes':>16}{'delegates':>12}{'kernel calls':>14}{'bytes':>22}")
        for n, o, t in rows:
            both = lambda f, width: f"{f(o) + (' ' + f(t) if t else ''):>{width}}"
            print(f"{n:28}{both(lambda x: f'{share(x):.3f}', 16)}{both(lambda x: str(x['delegates']), 12)}{both(lambda x: str(x['calls']), 14)}"
                  f"{both(lambda x: str(x['bytes']), 22)}  {'' if t else 'no right program of the Python flow'}{' '.join('MORE ' + f if f != 'share' else 'LESS share' for f in found.get(n, []))}".rstrip())
        worse = collections.Counter(f for fs in found.values() for f in fs)
        print(f"{len(rows)} models, {len(found)} compared: smaller share on {worse['share']}, more delegates on {worse['delegates']}, "
              f"larger on {worse['bytes']}; {sum(o['bytes'] for _, o, t in rows if t)} bytes together against {sum(t['bytes'] for _, _, t in rows if t)}")
    sys.exit(any(found.values()))


if __name__ == "__main__":
    main()

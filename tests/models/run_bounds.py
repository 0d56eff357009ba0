#!/usr/bin/env python3
"""Models at both bounds of each dynamic dim against torch's results in tests/models/bounds (made by make_bounds.py).

  run_bounds.py [--edgec FILE] [--only NAME]... [--backend NAME] [--json FILE]

All calls of a model in order on one loaded program. Models that are neither in the repository nor in $EDGEC_SHARED are left out.
Last line: '<good> of <tried> models'.
"""
import argparse, concurrent.futures, json, os, pathlib, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import cases, process, values
from run_models import Fault, demand


def output_differs(got, path, want, atol):
    if got["kind"] != want["kind"]:
        return f"is {got['kind']}, expected {want['kind']}"
    if want["kind"] == "tensor":
        return values.differs(values.read_short_form(path, want["dtype"]), want, atol)
    if want["kind"] != "none" and abs(got["value"] - want["value"]) > 1e-4 * max(1, abs(want["value"])):
        return f"is {got['value']} instead of {want['value']}"
    return None


def check(a, name, tmp):
    case, bounds = cases.find(name), json.loads((HERE / "bounds" / f"{name}.json").read_text())
    pte, out, atol = tmp / "model.pte", tmp / "out", max(a.atol, bounds["atol"])
    demand(process.run([a.edgec, "compile", case / "model.pt2", "-o", pte, *cases.checks_of(case).get("options", []),
                        *(["--backend", a.backend] if a.backend else [])], a.timeout), "compile")
    command = [a.edgec, "run", pte, "--output-dir", out]
    for k, call in enumerate(bounds["calls"]):
        command += ["--inputs", ",".join(values.write_input(tmp / f"{k}_{i}.npy", s) for i, s in enumerate(call["inputs"]))]
    demand(process.run(command, a.timeout), "run")
    got = json.loads((out / "outputs.json").read_text())["calls"]
    for k, call in enumerate(bounds["calls"]):
        outputs = got[k]["outputs"]
        if len(outputs) != len(call["expected"]):
            raise Fault(f"{call['sizes']}: {len(outputs)} outputs, expected {len(call['expected'])}")
        for i, want in enumerate(call["expected"]):
            if fault := output_differs(outputs[i], out / str(k) / f"{i}.npy", want, atol):
                raise Fault(f"{call['sizes']}: output {i}: {fault}")
        for m in call.get("mutated_inputs", []):
            path = out / str(k) / "mutated" / f"{m['input']}.npy"
            if fault := values.differs(values.read_short_form(path, m["expected"]["dtype"]), m["expected"], atol):
                raise Fault(f"{call['sizes']}: written input {m['input']}: {fault}")
    return f"{len(bounds['calls'])} calls"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--edgec", default=str(cases.ROOT / "build/release/bin/edgec"))
    p.add_argument("--only", action="append")
    p.add_argument("--backend", help="compile with this backend")
    p.add_argument("--atol", type=float, default=1e-3)
    p.add_argument("--timeout", type=float, default=120)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--json", help="write {model: 'ok' or the fault}")
    a = p.parse_args()
    names = a.only or sorted(f.stem for f in (HERE / "bounds").glob("*.json"))

    def attempt(name):
        if not cases.find(name):
            return None, "not in the repository, and no shared corpus here"
        with tempfile.TemporaryDirectory() as tmp:
            try:
                return True, check(a, name, pathlib.Path(tmp))
            except Exception as e:
                return False, str(e) if isinstance(e, Fault) else f"{type(e).__name__}: {e}"

    results = {}
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name, (good, text) in zip(names, pool.map(attempt, names)):
            print(f"{'ok' if good else '--' if good is None else 'FAIL':5}{name:28}{text}", flush=True)
            if good is not None:
                results[name] = "ok" if good else text
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(results, indent=1))
    good = sum(r == "ok" for r in results.values())
    print(f"{good} of {len(results)} models")
    return 0 if results and good == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())

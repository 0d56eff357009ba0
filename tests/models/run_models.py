#!/usr/bin/env python3
"""Compiles models, runs the programs on the official runtime and compares with torch's outputs.

  run_models.py [--edgec FILE] [--list FILE]... [--only NAME]... [--backend NAME] [--json FILE]

For each model: `edgec compile`; `edgec verify`, alone and against the model, finds nothing; a second compile gives the same bytes;
`edgec run` makes all calls in order on one loaded program; then what its checks.json demands (tests/harness/cases.py).
Models that are neither in the repository nor in $EDGEC_SHARED are named and left out. Last line: '<good> of <tried> models'.
"""
import argparse, concurrent.futures, json, os, pathlib, re, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import cases, process, xnnpack_payload


class Fault(Exception):
    pass


def demand(outcome, what, codes=(0,)):
    if process.crashed(outcome):
        raise Fault(f"{what} CRASHED (exit {outcome.code}): {process.first_line(outcome.err)}")
    if outcome.code not in codes:
        raise Fault(f"{what}: exit {outcome.code}: {process.first_line(outcome.err)}")
    return outcome


def check_refused_options(a, case, checks, tmp):
    for refused in checks.get("refused_options", []):
        target = tmp / "refused.pte"
        r = demand(process.run([a.edgec, "compile", case / "model.pt2", "-o", target, *refused["options"]], a.timeout),
                   f"compile with {refused['options']}, to be refused", codes=(1,))
        for pattern in refused["message"]:
            if not re.search(pattern, r.err):
                raise Fault(f"the refusal does not say {pattern!r}: {process.first_line(r.err)}")
        if target.exists():
            raise Fault("a refused compile left its output")


def check_refused_shapes(a, meta, checks, pte, tmp):
    for refused in checks.get("refused_shapes", []):
        inputs = cases.zeros(tmp / "zeros", meta, refused["shapes"])
        r = demand(process.run([a.edgec, "run", pte, "--output-dir", tmp / "refused", "--inputs", inputs], a.timeout),
                   f"run with {refused['why']}, to be refused", codes=(1,))
        if not r.err.strip():
            raise Fault(f"run with {refused['why']}: refused without a message")


def check_absent_operators(a, checks, pte):
    if absent := checks.get("absent_operators"):
        text = demand(process.run([a.edgec, "inspect", pte], a.timeout), "inspect").out
        for name in absent:
            if re.search(rf"\b{name}\b", text):
                raise Fault(f"the program calls {name}")


def check_payloads(a, checks, pte):
    """The most operators of a kind in the payloads of a backend, all together."""
    for kind, most in checks.get("most_in_payloads", {}).get(a.backend or "", {}).items():
        count = sum(operators.count(kind) for operators in xnnpack_payload.operators(pte.read_bytes()))
        if count > most:
            raise Fault(f"{count} {kind} in payloads, not at most {most}")


def check(a, case, tmp):
    meta, checks = cases.meta_of(case), cases.checks_of(case)
    pte, again, out = tmp / "model.pte", tmp / "again.pte", tmp / "out"
    options = checks.get("options", []) + (["--backend", a.backend] if a.backend else [])
    check_refused_options(a, case, checks, tmp)
    compiled = demand(process.run([a.edgec, "compile", case / "model.pt2", "-o", pte, *options], a.timeout), "compile")
    if not pte.exists():
        raise Fault("compile: no output file")
    demand(process.run([a.edgec, "compile", case / "model.pt2", "-o", again, *options], a.timeout), "second compile")
    if pte.read_bytes() != again.read_bytes():
        raise Fault("a second compile gives other bytes")
    demand(process.run([a.edgec, "verify", pte], a.timeout), "verify")
    demand(process.run([a.edgec, "verify", case / "model.pt2", pte], a.timeout), "verify against the model")
    demand(process.run(cases.run_command(a.edgec, case, meta, pte, out), a.timeout), "run")
    # Where a backend quantizes rows that the model quantizes as a whole, results are a step of the quantization apart.
    atol = max(a.atol, checks.get("atol_with_backend", {}).get((a.backend or "").split(",")[0], 0))
    if fault := cases.compare(case, meta, out, atol):
        raise Fault(fault)
    check_absent_operators(a, checks, pte)
    check_payloads(a, checks, pte)
    check_refused_shapes(a, meta, checks, pte, tmp)
    return f"compiled in {compiled.wall * 1e3:.0f} ms, {pte.stat().st_size / 1e3:.1f} kB, {len(meta['calls'])} calls"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--edgec", default=str(cases.ROOT / "build/release/bin/edgec"))
    p.add_argument("--list", action="append", help="files with one model name a line (default: all tests/models/step*.txt)")
    p.add_argument("--only", action="append", help="these models, whatever the lists say")
    p.add_argument("--backend")
    p.add_argument("--atol", type=float, default=1e-3)
    p.add_argument("--timeout", type=float, default=120)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--json", help="write {model: 'ok' or the fault}")
    a = p.parse_args()
    names = a.only or [n for f in a.list or sorted(HERE.glob("step*.txt")) for n in cases.read_list(f)]
    names = list(dict.fromkeys(names))

    def attempt(name):
        case = cases.find(name)
        if not case:
            return None, "not in the repository, and no shared corpus here"
        with tempfile.TemporaryDirectory() as tmp:
            try:
                return True, check(a, case, pathlib.Path(tmp))
            except Fault as fault:
                return False, str(fault)
            except Exception as e:  # an odd outputs.json and the like
                return False, f"{type(e).__name__}: {e}"

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

"""The second half of quickstart.sh: compile, inspect, run, compare, with every command shown."""
import pathlib, shutil, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/harness"))
import cases, npy, process

EDGEC = "build/release/bin/edgec"
CASE = pathlib.Path("tests/models/data/crepe_tiny")
OUT = pathlib.Path("build/quickstart")


def step(command):
    print("\n$ " + " ".join(str(c) or "''" for c in command), flush=True)
    r = process.run(command, cwd=ROOT)
    for text in (r.out, r.err):
        if text.strip():
            print(text.rstrip())
    if r.code:
        sys.exit(f"exit code {r.code}")
    return r


def pitch(row):
    """CREPE's answer for one frame: 360 bins of 20 cents, weighted around the strongest."""
    best = max(range(360), key=lambda i: row[i])
    near = range(max(0, best - 4), min(360, best + 5))
    cents = sum(row[i] * (1997.3794084376191 + 20 * i) for i in near) / sum(row[i] for i in near)
    return 10 * 2 ** (cents / 1200), row[best]


def main():
    shutil.rmtree(ROOT / OUT, ignore_errors=True)
    (ROOT / OUT).mkdir(parents=True)
    meta, pte = cases.meta_of(ROOT / CASE), OUT / "crepe_tiny.pte"
    compiled = step([EDGEC, "compile", CASE / "model.pt2", "-o", pte, "--timings"])
    step([EDGEC, "inspect", pte])
    step([EDGEC, "verify", CASE / "model.pt2", pte])
    ran = step(cases.run_command(EDGEC, CASE, meta, pte, OUT / "outputs"))

    fault = cases.compare(ROOT / CASE, meta, ROOT / OUT / "outputs")
    print(f"\noutputs against torch's: {fault or 'equal within the tolerance'}")
    print("pitch of each frame (the first output), ours and torch's:")
    ours, torchs = (npy.read(ROOT / f).data for f in (OUT / "outputs/0/0.npy", CASE / meta["calls"][0]["expected"][0]["file"]))
    for k in range(len(ours) // 360):
        (a, sure), (b, _) = (pitch(x[k * 360:(k + 1) * 360]) for x in (ours, torchs))
        print(f"  frame {k}: {a:8.2f} Hz  {b:8.2f} Hz  (confidence {sure:.2f})")

    print("\nwhole processes:   wall      cpu       peak memory")
    for name, r in (("edgec compile", compiled), ("edgec run", ran)):
        print(f"  {name:16} {r.wall * 1e3:6.1f} ms {r.cpu * 1e3:6.1f} ms {r.peak / 1e6:8.1f} MB")
    model, program = (ROOT / CASE / "model.pt2").stat().st_size, (ROOT / pte).stat().st_size
    print(f"model {model / 1e3:.1f} kB -> program {program / 1e3:.1f} kB: {pte}")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())

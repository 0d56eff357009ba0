#!/usr/bin/env python3
"""Planned memory beside the most that is live, and beside the Python flow's plan, over a corpus of models.

  planned.py [--edgec FILE] [--models DIR] [--json]

DIR holds <model>/model.pt2 and, for the comparison, official.json (planned bytes of the official exporter). Exit code 1 when a model is
planned above its max-live bytes by more than 3 percent, or above the Python flow.
"""
import argparse, json, pathlib, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def figures(edgec, model, folder):
    """Bytes of all memories of all methods: planned, and live at most; nothing when the model is refused."""
    pte = folder / "model.pte"
    done = subprocess.run([edgec, "compile", model, "-o", pte, "--quiet"], capture_output=True)
    if done.returncode:
        return None
    methods = json.loads(subprocess.run([edgec, "inspect", "--json", pte], capture_output=True, check=True).stdout)["methods"]
    return sum(sum(m["memory_bytes"]) for m in methods), sum(m["max_live_bytes"] or 0 for m in methods)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edgec", default=str(ROOT / "build/release/bin/edgec"))
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "tests/models/data")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    known = args.models / "official.json"
    official = json.loads(known.read_text())["models"] if known.exists() else {}
    rows, refused = [], []
    with tempfile.TemporaryDirectory() as tmp:
        for model in sorted(args.models.glob("*/model.pt2")):
            got = figures(args.edgec, model, pathlib.Path(tmp))
            if got is None:
                refused.append(model.parent.name)
                continue
            other = official.get(model.parent.name, {}).get("portable", {}).get("planned_bytes")
            rows.append({"model": model.parent.name, "planned": got[0], "max_live": got[1], "official": sum(other) if other else None})
    ratio = lambda r: r["planned"] / r["max_live"] if r["max_live"] else 1.0
    if args.json:
        print(json.dumps({"models": rows, "refused": refused}))
    else:
        print(f"{'model':28}{'planned':>12}{'max live':>12}{'ratio':>8}{'Python flow':>14}{'ratio':>8}")
        for r in rows:
            other = f"{r['official']:14}{r['planned'] / r['official']:8.3f}" if r["official"] else ""
            print(f"{r['model']:28}{r['planned']:12}{r['max_live']:12}{ratio(r):8.3f}{other}")
        compared = [r for r in rows if r["official"]]
        print(f"{len(rows)} models, {len(refused)} refused: planned is max live on {sum(ratio(r) <= 1.0005 for r in rows)}, "
              f"at most {max(map(ratio, rows), default=1):.3f} times it; above the Python flow on "
              f"{sum(r['planned'] > r['official'] for r in compared)} of {len(compared)}, "
              f"{sum(r['planned'] for r in compared)} bytes together against {sum(r['official'] for r in compared)}")
    sys.exit(any(ratio(r) > 1.03 or (r["official"] and r["planned"] > r["official"]) for r in rows))


if __name__ == "__main__":
    main()

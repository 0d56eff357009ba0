"""Makes tests/ops/data/<family>.cases with torch: `make_cases.py [FAMILY...]` (default: all of tests/ops/families and tests/ops/graphs).

--seed N --output DIR: other inputs, elsewhere, to look for failures that the kept inputs do not show.
"""
import argparse, importlib, pathlib, sys, warnings
import torch
import opcases

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, default=HERE / "data")
    args = parser.parse_args()
    opcases.SEED = args.seed
    args.output.mkdir(parents=True, exist_ok=True)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    folder_of = {p.stem: f for f in ("families", "graphs") for p in (HERE / f).glob("*.py")}
    total, ops, problems = 0, set(), 0
    for name in args.families or sorted(folder_of):
        w = opcases.Writer()
        folder = folder_of[name]
        importlib.import_module(f"{folder}.{name}").cases(w.add if folder == "families" else w.graph)
        text = f"# Made by make_cases.py with torch {torch.__version__.split('+')[0]}.\n\n" + "\n".join(w.lines)
        (args.output / f"{name}.cases").write_text(text)
        for p in w.problems: print(f"{name}: not a case: {p}", file=sys.stderr)
        print(f"{name}: {w.count} cases of {len(w.ops)} operators, {len(text) // 1024} KB")
        total, ops, problems = total + w.count, ops | w.ops, problems + len(w.problems)
    print(f"{total} cases of {len(ops)} operators")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

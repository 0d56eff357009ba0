#!/usr/bin/env python3
"""A decoder of more than 100 million parameters: torch's tokens, the size of the program, tokens per second beside the Python flow's program.

  run_large.py FOLDER [--edgec FILE] [--backend NAME ...] [--kind io|state ...] [--prompts N] [--python-flow PROGRAM.pte]

FOLDER is what `make_models.py large FOLDER` writes; `python_flow.py` makes the other flow's program of the same pair. Both run on the same
runtime by `edgec genai run`. The last line is '<good> of <tried> ...'."""
import argparse, json, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def generate(edgec, program, reference):
    """The tokens of every prompt, and the tokens per second of the best one."""
    args = [a for c in reference["calls"] for a in ("--prompt_ids", ",".join(map(str, c["prompt"])))]
    r = subprocess.run([edgec, "genai", "run", program, *args, "--temperature", "0", "--max_new_tokens", str(reference["new_tokens"]),
                        "--max_context_len", str(reference["context"]), "--ids"], capture_output=True, text=True)
    if r.returncode:
        return None, 0.0, r.stderr
    rates = [float(x) for x in re.findall(r"generated: \d+ tokens, ([0-9.]+) tokens/s", r.stderr)]
    return [[int(t) for t in line.split()] for line in r.stdout.splitlines()], max(rates), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--edgec", default=str(ROOT / "build/release/bin/edgec"))
    parser.add_argument("--backend", nargs="+", default=["portable", "xnnpack"])
    parser.add_argument("--kind", nargs="+", default=["io", "state"])
    parser.add_argument("--prompts", type=int, help="only so many of the prompts")
    parser.add_argument("--python-flow", type=pathlib.Path)
    args = parser.parse_args()
    reference = json.loads((args.folder / "tokens.json").read_text())
    reference["calls"] = reference["calls"][:args.prompts]
    expected = [c["tokens"] for c in reference["calls"]]
    other = None
    if args.python_flow:
        tokens, other, error = generate(args.edgec, args.python_flow, reference)
        print(f"{args.python_flow.name}: {other:.1f} tokens/s{'' if tokens == expected else ', other tokens than torch' } {error}")
    good = tried = 0
    for kind in args.kind:
        decode, prefill = (args.folder / f"{kind}_{name}.pt2" for name in ("decode", "prefill"))
        for backend in args.backend:
            tried += 1
            out = args.folder / f"{kind}_{backend}"
            subprocess.run([args.edgec, "genai", "compile", "--soc_model", "SM8650", "--decoder_model", "large", "--backend", backend,
                            "--kv_forward", decode, "--prefill_forward", prefill, "--artifact", out], check=True, stdout=subprocess.DEVNULL)
            program, alone = out / "text_decoder.pte", out / "alone.pte"
            subprocess.run([args.edgec, "compile", prefill, "-o", alone, *([] if backend == "portable" else ["--backend", backend])], check=True)
            nodes = json.loads(subprocess.run([args.edgec, "inspect", "--json", prefill], check=True, capture_output=True).stdout)["nodes"]
            size, most = program.stat().st_size, alone.stat().st_size * 1.01 + 200 * nodes
            alone.unlink()
            tokens, rate, error = generate(args.edgec, program, reference)
            wrong = [w for w, bad in ((error, error), ("other tokens than torch", not error and tokens != expected),
                                      (f"more than {most:.0f} bytes", size > most)) if bad]
            good += not wrong
            print(f"{kind} {backend}: {size} bytes, {rate:.1f} tokens/s" + (f" ({rate / other:.2f} of the Python flow's)" if other else "") +
                  "".join(f"; {w}" for w in wrong), flush=True)
    print(f"{good} of {tried} programs generate torch's tokens and hold every weight once")
    return good != tried


if __name__ == "__main__":
    sys.exit(main())

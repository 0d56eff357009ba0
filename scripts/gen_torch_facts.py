#!/usr/bin/env python3
"""Writes, for tests/unit/table_test.cpp: tests/ops/torch_schemas.txt and edge_dtypes.txt, of torch's operator schemas and ExecuTorch's edge
dtype rows those of operators that edgec's table has; core_operators.txt, the names that torch.export may give.

  gen_torch_facts.py EDGEC SHARED/reference
"""
import pathlib, re, subprocess, sys

edgec, reference = sys.argv[1], pathlib.Path(sys.argv[2])
out = pathlib.Path(__file__).resolve().parent.parent / "tests/ops"
table = set(re.findall(r"\b(?:aten|quantized_decomposed)::[\w.]+", subprocess.run([edgec, "ops"], check=True, capture_output=True, text=True).stdout))
table |= {n.removesuffix(".default") for n in table}


packets = {n.split(".")[0] for n in table}


def schemas():
    """Of the table's operators, and of the forms of them that write into given tensors."""
    for line in (reference / "aten_schemas.txt").read_text().splitlines():
        text = line.split("\t")[0]
        name, arguments = text.split("(")[0].removesuffix(".default"), text.split(") -> ")[0]
        if text.startswith("#"): continue
        if name in table or (name.split(".")[0] in packets and "!)" in arguments.partition("*, ")[2]): yield text


def dtypes():
    for line in (reference / "edge_dtypes.txt").read_text().splitlines():
        if line.startswith("#") or line.split("\t")[0].replace("_copy", "") in table or line.split("\t")[0] in table:
            yield line


def core_operators():
    """What torch.export gives: core ATen, what its decompositions know, and what exported models had."""
    names = {line.split("(")[0].replace("::", ".") for line in (reference / "aten_schemas.txt").read_text().splitlines()
             if "core" in line.partition("\t")[2].split(",")}
    for file in ("core_decompositions.txt", "training_ir_targets.txt"):
        names |= {line.split("\t")[0].strip() for line in (reference / file).read_text().splitlines() if line.startswith("aten.")}
    return sorted({n.removesuffix(".default") for n in names})


(out / "core_operators.txt").write_text("\n".join(core_operators()) + "\n")
(out / "torch_schemas.txt").write_text("\n".join(schemas()) + "\n")
(out / "edge_dtypes.txt").write_text("\n".join(dtypes()) + "\n")

"""The Python flow's side of a comparison, one whole process:   python_flow.py MODEL.pt2 OUT.pte [xnnpack]"""
import sys

import torch
from executorch.exir import to_edge_transform_and_lower

source, target, *backends = sys.argv[1:]
partitioners = []
if "xnnpack" in backends:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    partitioners.append(XnnpackPartitioner())
program = to_edge_transform_and_lower(torch.export.load(source), partitioner=partitioners).to_executorch()
with open(target, "wb") as f:
    program.write_to_file(f)

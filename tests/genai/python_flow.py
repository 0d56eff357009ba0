#!/usr/bin/env python3
"""The official Python flow's program of a pair of decoder graphs, to compare with. Needs torch and executorch.

  python_flow.py DECODE.pt2 PREFILL.pt2 OUT.pte [--portable]"""
import argparse, torch
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("decode")
    parser.add_argument("prefill")
    parser.add_argument("output")
    parser.add_argument("--portable", action="store_true")
    args = parser.parse_args()
    partitioner = []
    if not args.portable:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        partitioner = [XnnpackPartitioner()]
    programs = {"kv_forward": torch.export.load(args.decode), "prefill_forward": torch.export.load(args.prefill)}
    edge = to_edge_transform_and_lower(programs, partitioner=partitioner)
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass()))
    with open(args.output, "wb") as f:
        program.write_to_file(f)


if __name__ == "__main__":
    main()

"""What benchmarks/latency runs in processes of their own. Prints one line of JSON.

  latency_sides.py theirs MODEL.pt2 OUT.pte portable|xnnpack     the Python flow's program
  latency_sides.py onnx MODEL.pt2 OUT.onnx                       for the other engines
  latency_sides.py programs CASE SECONDS FIRST FILE...           programs on the official runtime in turn, loaded from place FIRST on
  latency_sides.py onnxruntime|openvino CASE SECONDS FILE.onnx
"""
import json, logging, pathlib, sys, time

logging.disable(50)
WARM_UP, LEAST, BLOCK = 3, 5, 0.05


def inputs_of(case):
    import numpy, torch

    inputs = []
    for v in json.loads((case / "meta.json").read_text())["calls"][0]["inputs"]:
        if v["kind"] == "tensor":
            t = torch.from_numpy(numpy.load(case / v["file"]))
            t = t.view(torch.bfloat16) if v["dtype"] == "bfloat16" else t
            laid_out = torch.empty_strided(v["shape"], v.get("stride") or list(t.stride()), dtype=t.dtype)
            inputs.append(laid_out.copy_(t.reshape(v["shape"])))
        elif v["kind"] != "none":
            inputs.append(v.get("value"))
    return inputs


def in_turn(calls, seconds):
    """Median wall time of each call. They take turns in blocks, whose first call is not counted: it finds the other's weights in the caches."""
    for call in calls:
        for _ in range(WARM_UP):
            call()
    times = [[] for _ in calls]
    end = time.monotonic() + seconds * len(calls)
    while time.monotonic() < end or len(times[0]) < LEAST:
        for call, to in zip(calls, times):
            call()
            block = time.monotonic() + BLOCK
            while time.monotonic() < block:
                start = time.perf_counter()
                call()
                to.append(time.perf_counter() - start)
    return [sorted(t)[len(t) // 2] for t in times]


def theirs(model, target, backend):
    import torch
    import executorch.kernels.quantized
    from executorch.exir import to_edge, to_edge_transform_and_lower
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    with torch.no_grad():
        program = torch.export.load(model)
        lowered = to_edge(program) if backend == "portable" else to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
        pathlib.Path(target).write_bytes(lowered.to_executorch().buffer)


def onnx(model, target):
    import torch

    torch.onnx.export(torch.export.load(model), f=target, dynamo=True, verbose=False)


def programs(case, seconds, first, *files):
    """Steady latencies, and what loading and the first call take beyond one."""
    import torch
    import executorch.kernels.quantized
    from executorch.runtime import Runtime

    inputs = inputs_of(pathlib.Path(case))
    # What the runtime does once in a process is no program's cost.
    Runtime.get().load_program(files[0]).load_method("forward").execute(inputs)
    methods, loading = [None] * len(files), [0.0] * len(files)
    for k in range(len(files)):
        at = (k + int(first)) % len(files)
        start = time.perf_counter()
        methods[at] = Runtime.get().load_program(files[at]).load_method("forward")
        methods[at].execute(inputs)
        loading[at] = time.perf_counter() - start
    steady = in_turn([lambda m=m: m.execute(inputs) for m in methods], float(seconds))
    return {"steady": steady, "load": [a - b for a, b in zip(loading, steady)]}


def feed(names, inputs):
    tensors = [x for x in inputs if hasattr(x, "numpy")]
    return {n: x.contiguous().numpy() for n, x in zip(names, tensors)}


def onnxruntime(case, seconds, file):
    import onnxruntime as ort

    session = ort.InferenceSession(file, providers=["CPUExecutionProvider"])
    given = feed([i.name for i in session.get_inputs()], inputs_of(pathlib.Path(case)))
    return {"steady": in_turn([lambda: session.run(None, given)], float(seconds))}


def openvino(case, seconds, file):
    import openvino as ov

    compiled = ov.Core().compile_model(file, "CPU")
    given = feed([i.any_name for i in compiled.inputs], inputs_of(pathlib.Path(case)))
    request = compiled.create_infer_request()
    return {"steady": in_turn([lambda: request.infer(given)], float(seconds))}


if __name__ == "__main__":
    print(json.dumps({f.__name__: f for f in (theirs, onnx, programs, onnxruntime, openvino)}[sys.argv[1]](*sys.argv[2:])))

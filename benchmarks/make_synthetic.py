#!/usr/bin/env python3
"""Writes a .pt2 of N nodes as torch 2.13 does, without torch:   make_synthetic.py N OUT.pt2 [--width W]

A chain of linear, relu and add (of the value before the relu) on [4, W] float32; each linear has its own weight and bias. Same
arguments, same bytes. Prints the number of nodes and of weight bytes.
"""
import argparse, io, json, random, struct, zipfile

BATCH = 4


def tensor_meta(sizes, grad=False):
    strides, step = [], 1
    for n in reversed(sizes):
        strides.insert(0, step)
        step *= n
    return {"dtype": 7, "sizes": [{"as_int": n} for n in sizes], "requires_grad": grad, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": n} for n in strides], "storage_offset": {"as_int": 0}, "layout": 7}


def tensor(name):
    return {"as_tensor": {"name": name}}


def node(target, name, line, layer, arguments):
    kind = {"linear": "Linear", "relu": "ReLU", "add": "Chain"}[target.split(".")[-2]]
    return {
        "target": target,
        "inputs": [{"name": k, "arg": tensor(v), "kind": 1} for k, v in arguments],
        "outputs": [tensor(name)],
        "metadata": {
            "stack_trace": f'File "chain.py", line {line}, in forward\n    x = self.layers[{layer}](x)',
            "nn_module_stack": f"L__self__,,chain.Chain;L__self___layers_{layer},layers.{layer},chain.{kind}",
            "torch_fn": f"{name};function.{target.split('.')[-2]}",
        },
        "is_hop_single_tensor_return": None,
        "name": name,
    }


def model(count, width):
    """(program, weights config, {record: bytes})"""
    rng = random.Random(count)
    nodes, values, parameters, weights, config = [], {"x": tensor_meta([BATCH, width])}, [], {}, {}

    def parameter(name, sizes):
        record, n = f"weight_{len(config)}", 1
        for s in sizes:
            n *= s
        weights[record] = struct.pack(f"<{n}f", *(rng.uniform(-0.2, 0.2) for _ in range(n)))
        config[name] = {"path_name": record, "is_param": True, "use_pickle": False, "tensor_meta": tensor_meta(sizes, True)}
        value = "p_" + name.replace(".", "_")
        values[value] = tensor_meta(sizes, True)
        parameters.append((value, name))
        return value

    last = before = "x"
    for i in range(count):
        kind = ("linear", "relu", "add")[i % 3]
        name, layer = f"{kind}_{i}", i // 3
        if kind == "linear":
            w, b = parameter(f"layers.{layer}.weight", [width, width]), parameter(f"layers.{layer}.bias", [width])
            nodes.append(node("torch.ops.aten.linear.default", name, 20, layer, [("input", last), ("weight", w), ("bias", b)]))
            before, last = last, name
        elif kind == "relu":
            nodes.append(node("torch.ops.aten.relu.default", name, 21, layer, [("self", last)]))
            last = name
        else:
            nodes.append(node("torch.ops.aten.add.Tensor", name, 22, layer, [("self", last), ("other", before)]))
            last = name
        values[name] = tensor_meta([BATCH, width])

    leaf = {"type": None, "context": None, "children_spec": []}
    pack = {"type": "builtins.tuple", "context": "null", "children_spec": [leaf]}
    in_spec = {"type": "builtins.tuple", "context": "null",
               "children_spec": [pack, {"type": "builtins.dict", "context": "[]", "children_spec": []}]}
    program = {
        "graph_module": {
            "graph": {"inputs": [tensor(v) for v, _ in parameters] + [tensor("x")], "outputs": [tensor(last)], "nodes": nodes,
                      "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
                      "custom_obj_values": {}, "sym_float_values": {}},
            "signature": {
                "input_specs": [{"parameter": {"arg": {"name": v}, "parameter_name": n}} for v, n in parameters] +
                               [{"user_input": {"arg": tensor("x")}}],
                "output_specs": [{"user_output": {"arg": tensor(last)}}]},
            "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": json.dumps([1, in_spec]),
                                                            "out_spec": json.dumps([1, leaf]), "forward_arg_names": ["x"]}}],
            "metadata": {}, "treespec_namedtuple_fields": {}},
        "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
        "verifiers": ["TRAINING"], "torch_version": "2.13.0+cpu", "guards_code": []}
    return program, {"config": config}, weights


def write(path, records):
    """A stored zip below the root `model`, payloads aligned to 64 bytes by an extra field, as torch's writer does."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        for name, data in records:
            info = zipfile.ZipInfo(f"model/{name}", (1980, 1, 1, 0, 0, 0))
            padding = -(z.start_dir + 30 + len(info.filename) + 4) % 64
            info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
            z.writestr(info, data)


def sample_inputs(width):
    """What torch.save writes for ((zeros(BATCH, width),), {}): torch.export.load wants it. The pickle is spelled out, opcode by opcode."""
    def integer(n):
        return b"J" + struct.pack("<i", n)

    def string(s):
        return b"X" + struct.pack("<I", len(s)) + s

    storage = b"(" + string(b"storage") + b"ctorch\nFloatStorage\n" + string(b"0") + string(b"cpu") + integer(BATCH * width) + b"tQ"
    sizes, strides = (b"(" + integer(m) + integer(n) + b"t" for m, n in ((BATCH, width), (width, 1)))
    pickle = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + integer(0) + sizes + strides +
              b"\x89ccollections\nOrderedDict\n)RtR\x85}\x86.")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for name, data in (("data.pkl", pickle), ("byteorder", b"little"), ("data/0", bytes(4 * BATCH * width)), ("version", b"3\n")):
            z.writestr(zipfile.ZipInfo(f"archive/{name}", (1980, 1, 1, 0, 0, 0)), data)
    return out.getvalue()


def make(count, path, width=16):
    program, config, weights = model(count, width)
    records = [(f"data/weights/{k}", v) for k, v in weights.items()]
    records += [("data/weights/model_weights_config.json", json.dumps(config)),
                ("data/constants/model_constants_config.json", json.dumps({"config": {}})),
                ("models/model.json", json.dumps(program)), ("data/sample_inputs/model.pt", sample_inputs(width)), ("archive_format", "pt2"), ("archive_version", "0"),
                (".data/version", "6\n"), ("byteorder", "little"), (".data/serialization_id", "0" * 40)]
    write(path, records)
    return sum(map(len, weights.values()))


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("nodes", type=int)
    p.add_argument("out")
    p.add_argument("--width", type=int, default=16)
    a = p.parse_args()
    print(f"{a.nodes} nodes, {make(a.nodes, a.out, a.width)} bytes of weights")

#!/usr/bin/env python3
"""Damaged archives: `edgec compile` refuses them with exit code 1 or 3 and a message, never crashes, never leaves a file.

  hostile.py [--edgec FILE] [--models NAME]...

Cut at every 1,000th byte, a flipped byte in each JSON member, weights shorter than their shapes: these must be refused. Random bytes
changed, members missing or halved, JSON with extreme values (and a right CRC): may also compile where it does not matter.
Last line: '<good> of <all> damaged archives answered well'.
"""
import argparse, concurrent.futures, io, os, pathlib, random, re, struct, sys, tempfile, zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import cases, process

EXTREME = (  # in any JSON member, the first occurrence only
    (b'"as_int": 1', b'"as_int": -9223372036854775808'),
    (b'"as_int": 2', b'"as_int": 4611686018427387904'),
    (b'"as_int": 3', b'"as_int": 99999999999999999999999999'),
    (b'"name": "', b'"name": "zz'),
    (b'"name": "', b'"name": 5, "x": "'),
    (b"Integer(2)", b"Integer(" + b"9" * 40 + b")"),
    (b"Symbol(", b"Mul(" * 20000 + b"Symbol("),
    (b"[", b"[" * 50000),
    (b'"dtype": 7', b'"dtype": 77'),
    (b'"dtype": 7', b'"dtype": -1'),
    (b'"layout": 7', b'"layout": 1'),
    (b'"storage_offset": {"as_int": 0}', b'"storage_offset": {"as_int": 1099511627776}'),
    (b'"storage_offset": {"as_int": 0}', b'"storage_offset": {"as_int": -4}'),
    (b'"strides": [{"as_int": ', b'"strides": [{"as_int": -'),
    (b'"path_name": "', b'"path_name": "../'),
    (b'"use_pickle": false', b'"use_pickle": true'),
    (b'"major": 8', b'"major": 9'),
    (b"torch.ops.aten.", b"torch.ops.aten.no_such_"),
    (b'"as_tensor"', b'"as_tensors"'),
    (b'"nodes": [', b'"nodes": [null, '),
    (b'"signature": {', b'"signature": null, "x": {'),
    (b'"min_val": ', b'"min_val": 9'),
    (b'"max_val": ', b'"max_val": -'),
)

PICKLED = (  # in the pickle of any torch.save file; all must be refused
    (b"ctorch._utils\n_rebuild_tensor_v2\n", b"cos\nsystem\n"),
    (b"ctorch\nFloatStorage\n", b"ctorch\nDoubleStorage\n"),
    (b"X\x01\x00\x00\x000", b"X\x04\x00\x00\x00../0"),  # the key of storage 0
    (b"}q\x00", b"}q\x00h\x00h\x00s"),  # a dict that holds itself
    (b"\x80\x02", b"\x80\x02" + b"(" * 100000 + b"]" * 100000),
    (b"\x80\x02", b"\x80\x02\x8d" + b"\xff" * 8),
    (b"ccollections\nOrderedDict\n", b"ccollections\nOrderedDict\nN\x86b"),
)


def with_member(archive, name, data):
    """The archive with one member's bytes replaced (left out with None); all CRCs right."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for info in archive.infolist():
            if info.filename != name:
                z.writestr(info.filename, archive.read(info.filename))
            elif data is not None:
                z.writestr(info.filename, data)
    return out.getvalue()


def data_offset(raw, info):
    name, extra = struct.unpack_from("<HH", raw, info.header_offset + 26)
    return info.header_offset + 30 + name + extra


def flipped(raw, at, bit=0):
    b = bytearray(raw)
    b[at] ^= 1 << bit
    return bytes(b)


def damages(name, raw, rng):
    """(what, bytes, must it be refused)"""
    for size in range(0, len(raw), 1000):
        yield f"{name} cut at {size}", raw[:size], True
    yield f"{name} without its last byte", raw[:-1], True
    archive = zipfile.ZipFile(io.BytesIO(raw))
    for info in archive.infolist():
        member, data = info.filename, archive.read(info.filename)
        if member.endswith(".json"):
            start = data_offset(raw, info)
            for at in sorted({0, info.file_size // 3, info.file_size // 2, info.file_size - 1}):
                yield f"{name} byte {at} of {member} flipped", flipped(raw, start + at, rng.randrange(8)), True
            for old, new in EXTREME:
                if old in data:
                    yield f"{name} {old[:30]!r} to {new[:30]!r} in {member}", with_member(archive, member, data.replace(old, new, 1)), False
        if zipfile.is_zipfile(io.BytesIO(data)) and not re.search("inputs", member):
            inner = zipfile.ZipFile(io.BytesIO(data))
            pickle = next(n for n in inner.namelist() if n.endswith("/data.pkl"))
            for old, new in PICKLED:
                if old in inner.read(pickle):
                    changed = with_member(inner, pickle, inner.read(pickle).replace(old, new, 1))
                    yield f"{name} {old[:30]!r} to {new[:30]!r} in {member}", with_member(archive, member, changed), True
        weight = re.search(r"/data/(weights/weight|constants/tensor)_\d+$|/data/weights/\w+\.pt$|^serialized_state_dict\.pt$", member)
        if weight and data:
            for size in sorted({0, len(data) // 2, len(data) - 1}):
                yield f"{name} {member} of {size} instead of {len(data)} bytes", with_member(archive, member, data[:size]), True
            yield f"{name} without {member}", with_member(archive, member, None), True
        elif not weight:
            yield f"{name} without {member}", with_member(archive, member, None), False
            yield f"{name} half of {member}", with_member(archive, member, data[:len(data) // 2]), False
    for k in range(60):
        b = bytearray(raw)
        for _ in range(rng.choice((1, 4, 64))):
            b[rng.randrange(len(b))] = rng.randrange(256)
        yield f"{name} random change {k}", bytes(b), False
    for k in range(20):  # near the end lies the directory
        yield f"{name} directory change {k}", flipped(raw, len(raw) - 1 - rng.randrange(min(len(raw), 1500)), rng.randrange(8)), False


def fault_of(edgec, data, refuse):
    with tempfile.TemporaryDirectory() as tmp:
        source, target = pathlib.Path(tmp, "model.pt2"), pathlib.Path(tmp, "model.pte")
        source.write_bytes(data)
        r = process.run([edgec, "compile", source, "-o", target], timeout=60)
        left = sorted(p.name for p in pathlib.Path(tmp).iterdir() if p != source)
    if process.crashed(r):
        return f"CRASHED (exit {r.code}): {process.first_line(r.err)}"
    if r.code == 0 and not refuse:
        return None if left == ["model.pte"] else f"exit 0 but the folder holds {left}"
    if r.code not in (1, 3):
        return f"exit {r.code}: {process.first_line(r.err)}"
    if left:
        return f"exit {r.code} and left {left}"
    return None if r.err.strip() else f"exit {r.code} without a message"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--edgec", default=str(cases.ROOT / "build/release/bin/edgec"))
    p.add_argument("--models", action="append", help="default: a few small ones of the repository")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    a = p.parse_args()
    rng, good, every = random.Random(7), 0, 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name in a.models or ("mlp", "counter", "bert_dyn", "mlp_torch_2_7", "mlp_torch_2_8", "ao_int8_weight_only"):
            case = cases.find(name)
            if not case:
                print(f"{name}: not here")
                return 1
            todo = list(damages(name, (case / "model.pt2").read_bytes(), rng))
            for (what, _, _), fault in zip(todo, pool.map(lambda d: fault_of(a.edgec, d[1], d[2]), todo)):
                every += 1
                good += fault is None
                if fault:
                    print(f"FAIL {what}: {fault}", flush=True)
    print(f"{good} of {every} damaged archives answered well")
    return 0 if every and good == every else 1


if __name__ == "__main__":
    sys.exit(main())

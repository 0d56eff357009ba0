"""out= forms of which `out` has no case: the arguments of the plain form's cases, with a result to write."""
import importlib, pathlib
from opcases import *
from families import out

HERE = pathlib.Path(__file__).resolve().parent
OWN = {"out", "out_forms", "sweeps"}
WANTED = 1  # case of each form
SKIPPED = {"aten._native_batch_norm_legit.out", "aten.bernoulli.float_out"}  # they differ from the plain form in more than the results


def plain_of(form, given):
    """The overloads of the same operator that take the form's arguments but for those it writes."""
    wanted = [a.name for a in form._schema.arguments if not a.is_out]
    packet = getattr(torch.ops.aten, form._schema.name.split("::")[1])
    for overload in packet.overloads():
        names = [a.name for a in getattr(packet, overload)._schema.arguments]
        if names[: len(wanted)] == wanted and not any(a.is_out for a in getattr(packet, overload)._schema.arguments):
            yield from given.get(f"aten.{packet.__name__}" + ("" if overload == "default" else f".{overload}"), [])


def empty_like(result):
    if isinstance(result, (list, tuple)): return [T(r.dtype, *r.shape) for r in result]
    return T(result.dtype, *result.shape)


def cases(add):
    given, covered = {}, set()
    out.cases(lambda op, *args, **kwargs: covered.add(op))
    for file in sorted(HERE.glob("*.py")):
        if file.stem in OWN: continue
        importlib.import_module(f"families.{file.stem}").cases(lambda op, *args, **kwargs: given.setdefault(op, []).append((args, kwargs)))
    for line in (HERE.parent / "torch_schemas.txt").read_text().splitlines():
        op = line.split("(")[0].replace("::", ".")
        if not op.startswith("aten.") or op in covered or op in given or op in SKIPPED: continue
        form = torch_op(op)
        outs = [a.name for a in form._schema.arguments if a.is_out]
        if not outs: continue
        accepted = {a.name for a in form._schema.arguments}
        made = 0
        for args, kwargs in plain_of(form, given):
            own = {k: v for k, v in kwargs.items() if k in accepted}
            if made == WANTED or {"where", "refused", "torch_fn", "within"} & kwargs.keys(): continue
            if len(own) + len({"tol", "name"} & kwargs.keys()) != len(kwargs): continue
            if any(t.dtype in PARTS or t.order or t.weight for t in flat_tensors([*args, *own.values()])): continue
            w = Writer()
            real = lambda a: a.fill(1, {})[0] if isinstance(a, T) else [real(v) for v in a] if isinstance(a, (list, tuple)) else a
            try:
                result = getattr(torch.ops.aten, op.split(".")[1])(*map(real, args), **{k: real(v) for k, v in own.items()})
            except (RuntimeError, IndexError, TypeError, NotImplementedError):
                continue
            results = list(result) if isinstance(result, tuple) else [result]
            if len(results) != len(outs) or (isinstance(result, torch.Tensor) and result.is_complex()): continue
            w.add(op, *args, **own, **{n: empty_like(r) for n, r in zip(outs, results)})
            if w.problems: continue
            add(op, *args, **own, **{n: empty_like(r) for n, r in zip(outs, results)}, tol=kwargs.get("tol"))
            made += 1

"""Every operator of the other families once more where none of its cases has this: no elements, a dynamic first size, channels_last, ranks 0
and 5. Derived from the operator's first case; what torch refuses is left out."""
import importlib, pathlib
from opcases import *

# Calls that end torch's process, that export would not give (a size of 1 in `squeeze`, other sizes than the numbers among the arguments), where
# torch leaves its own rule, random ones; and what docs/limits.md names.
LEFT_OUT = {
    "empty": "_reshape_alias _weight_norm _weight_norm_interface native_channel_shuffle channel_shuffle pixel_unshuffle native_dropout linalg_lu_factor "
             "linalg_lu_factor_ex _lu_with_info median chunk",
    "dynamic": "_reshape_alias squeeze squeeze.dim squeeze.dims squeeze_copy squeeze_copy.dim squeeze_copy.dims combinations chunk",
    "rank0": "_reshape_alias triplet_margin_loss",
    "rank5": "_saturate_weight_to_fp16 _pdist_forward linalg_lu_factor linalg_lu_factor_ex _lu_with_info",
}
OWN = {"where", "sizes", "tol", "refused", "torch_fn", "within", "name"}


class Recorder:
    """The plain calls of an operator, and what its cases cover."""

    def __init__(self):
        self.calls, self.covered = {}, {}

    def add(self, op, *args, **kwargs):
        tensors = list(flat_tensors([*args, *kwargs.values()]))
        have = self.covered.setdefault(op, set())
        if not kwargs.get("refused"):
            if kwargs.get("where"): have.add("dynamic")
            for t in tensors:
                have.add(f"rank{len(t.shape)}")
                if 0 in t.shape: have.add("empty")
                if t.order: have.add("layout")
        plain = not (OWN - {"tol", "name"}) & kwargs.keys() and tensors and tensors[0].shape and all(isinstance(s, int) for t in tensors for s in t.shape)
        if plain and op not in self.calls and tensors[0].values is None and not any(t.weight or 0 in t.shape for t in tensors):
            self.calls[op] = (args, {k: v for k, v in kwargs.items() if k != "name"})


def changed(a, change):
    if isinstance(a, T): return change(a)
    return [changed(v, change) for v in a] if isinstance(a, (list, tuple)) else a


def with_first_size(n, to):
    """Tensors whose first size is n get another one; `values` no longer fit then."""

    def change(t):
        if not t.shape or t.shape[0] != n: return t()
        if t.values is not None: raise ValueError("fixed values")
        return t(shape=(to, *t.shape[1:]))

    return change


def variants(op, args, have):
    tensors = list(flat_tensors(args))
    first = tensors[0].shape
    if "empty" not in have: yield "empty", with_first_size(first[0], 0), {}
    if "dynamic" not in have:
        yield "dynamic", with_first_size(first[0], "s0"), {"where": {"s0": (1, first[0] + 1)}, "sizes": [{"s0": first[0]}, {"s0": first[0] + 1}]}
    if "layout" not in have: yield "layout", lambda t: t(order="cl") if len(t.shape) == 4 else t(), {}
    if all(t.shape == first and t.values is None for t in tensors):
        if "rank0" not in have: yield "rank0", lambda t: t(shape=()), {}
        if "rank5" not in have: yield "rank5", lambda t: t(shape=(1, 2, 1, 3, 2)), {}


def cases(add):
    writer, recorder = add.__self__, Recorder()
    for file in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if file.stem not in ("sweeps", "out_forms", "random", "quantized", "complex", "rnn"): importlib.import_module(f"families.{file.stem}").cases(recorder.add)
    for op, (args, kwargs) in recorder.calls.items():
        if op.split(".")[1].endswith("_") or not op.startswith("aten."): continue
        tol = kwargs.pop("tol", None)
        for name, change, options in variants(op, [*args, *kwargs.values()], recorder.covered[op]):
            if name == "layout" and not any(len(t.shape) == 4 for t in flat_tensors([*args, *kwargs.values()])): continue
            if op.removeprefix("aten.") in LEFT_OUT.get(name, "").split(): continue
            try:
                writer._add(op, changed(args, change), name, options.get("where", {}), options.get("sizes"), tol, None, None, None,
                            {k: changed(v, change) for k, v in kwargs.items()})
            except Exception:
                pass  # torch refuses

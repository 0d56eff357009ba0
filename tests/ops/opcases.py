"""How cases are written: tensors that a tiny generator fills, a call or several, torch's result. See README.md."""
import base64, math, zlib
import torch

F16, BF16, F32, F64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
BOOL, U8, I8, I16, I32, I64 = torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64
FLOATS = [F32, F64, F16, BF16]
INTS = [I64, I32, I16, I8, U8]
ALL = FLOATS + INTS + [BOOL]
NAMES = {BOOL: "bool", U8: "u8", I8: "i8", I16: "i16", I32: "i32", I64: "i64", F16: "f16", BF16: "bf16", F32: "f32", F64: "f64",
         torch.uint16: "u16", torch.uint32: "u32", torch.complex64: "c64"}
DENOMINATORS = {F16: 16, BF16: 16, F32: 4096, F64: 1 << 20}
PARTS = {torch.complex64: F32, torch.complex128: F64}  # a complex operand goes in as pairs of real numbers, a complex result comes out so
NAMES[torch.complex128] = "c128"
MASK = (1 << 64) - 1
SEED = 0  # make_cases.py --seed


def mixed(seed, i):
    z = (seed * 0x9E3779B97F4A7C15 + (i + 1) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class T:
    """A tensor operand: f32 of -4..4 in steps of 1/4096, i64 of -9..9, ... unless `low`, `high` (in real numbers) say otherwise.

    T(F32, 2, 3)  T(I64, "s0", 3)  T(F32, 4, values=[...])  T(F32, 5, shuffled=True) all different  T(F32, 6, specials=[math.nan])
    order: dim order, "cl" for channels_last. weight=True: a constant of the program. A size may be an expression over symbols.
    """

    def __init__(self, dtype, *shape, low=None, high=None, values=None, shuffled=False, specials=None, order=None, weight=False, den=None):
        self.dtype, self.shape, self.order, self.weight = dtype, shape, order, weight
        self.values, self.shuffled, self.specials = values, shuffled, specials
        self.den = den or DENOMINATORS.get(dtype, 1)
        if dtype in PARTS: dtype = PARTS[dtype]
        default = (0, 1) if dtype == BOOL else (0, 9) if not dtype.is_floating_point and not dtype.is_signed else (-4, 4)
        if not dtype.is_floating_point and dtype.is_signed: default = (-9, 9)
        self.low = math.ceil((default[0] if low is None else low) * self.den)
        self.high = math.floor((default[1] if high is None else high) * self.den)

    def pairs(self):
        """What goes in for a complex tensor."""
        return self(dtype=PARTS[self.dtype], shape=(*self.shape, 2), den=DENOMINATORS[PARTS[self.dtype]],
                    low=-4 * DENOMINATORS[PARTS[self.dtype]], high=4 * DENOMINATORS[PARTS[self.dtype]])

    def __call__(self, **changes):
        made = T.__new__(T)
        made.__dict__ = {**self.__dict__, **changes}
        return made

    def sizes(self, symbols):
        return [s if isinstance(s, int) else int(eval(s, {}, dict(symbols))) for s in self.shape]

    def dim_order(self):
        rank = len(self.shape)
        if self.order == "cl":
            return [0, *range(2, rank), 1]
        return self.order

    def type_text(self):
        order = self.dim_order()
        text = f"{NAMES[self.dtype]}[{', '.join(str(s) for s in self.shape)}]"
        return text + ("{" + ",".join(map(str, order)) + "}" if order else "")

    def rounded(self, v):
        return v if isinstance(v, (int, bool)) else float(torch.tensor(v, dtype=F64).to(self.dtype))

    def fill(self, seed, symbols):
        """The tensor, and the line that makes the C++ side fill it alike."""
        if self.dtype in PARTS:
            t, line, values = self.pairs().fill(seed, symbols)
            return torch.view_as_complex(t), line, values
        sizes = self.sizes(symbols)
        count = math.prod(sizes)
        head = f"in {NAMES[self.dtype]} {shape_text(sizes)} "
        if self.values is not None:
            values = [self.rounded(v) for v in self.values]
            line = "values " + ",".join(number_text(v) for v in values)
        elif self.shuffled:
            order = [i - count // 2 for i in range(count)]
            for i in range(count, 1, -1):
                j = mixed(seed, i) % i
                order[i - 1], order[j] = order[j], order[i - 1]
            den = 4 if self.dtype.is_floating_point else 1
            values = [v / den if den > 1 else v for v in order]
            line = f"shuffled {seed} {den}"
        else:
            values = []
            specials = [self.rounded(v) for v in self.specials or []]
            for i in range(count):
                z = mixed(seed, i)
                if specials and (z >> 40) % 4 == 0:
                    values.append(specials[(z >> 44) % len(specials)])
                    continue
                k = self.low + (z >> 8) % (self.high - self.low + 1)
                values.append(k / self.den if self.den > 1 else k)
            line = f"grid {seed} {self.low} {self.high} {self.den}"
            if specials: line += " " + ",".join(number_text(v) for v in specials)
        t = torch.tensor(values, dtype=F64 if self.dtype.is_floating_point else None).to(self.dtype).reshape(sizes)
        order = self.dim_order()
        if order:
            back = [order.index(i) for i in range(len(order))]
            t = t.permute(order).contiguous().permute(back)
        return t, head + line, values


class Sym:
    """An integer argument that is an expression over the case's symbols: Sym("s0 // 2")."""

    def __init__(self, text):
        self.text = text

    def value(self, symbols):
        return int(eval(self.text, {}, dict(symbols)))


def seed(case, k):
    """Of input k: it stays when other cases come and go."""
    return (zlib.crc32(case.encode()) + SEED) * 8 + k


def number_text(v):
    return str(int(v)) if isinstance(v, (int, bool)) else repr(float(v))


def shape_text(sizes):
    return ",".join(map(str, sizes)) if sizes else "-"


def torch_op(name):
    parts = name.split(".")
    packet = getattr(getattr(torch.ops, parts[0]), parts[1])
    return getattr(packet, parts[2] if len(parts) > 2 else "default")


class Value:
    """What a call in a graph gave: torch's result, and its name in the program."""

    def __init__(self, real, name):
        self.real, self.name = real, name


class Calls:
    """The calls of a graph: each is computed with torch, and is a line of the program."""

    def __init__(self, symbols):
        self.symbols, self.lines, self.ops, self.count = symbols, [], [], 0

    def __call__(self, op, *args, torch_fn=None, **kwargs):
        real = lambda a: a.real if isinstance(a, Value) else a.value(self.symbols) if isinstance(a, Sym) else [real(v) for v in a] if isinstance(a, list) else a
        results = (torch_fn or torch_op(op))(*[real(a) for a in args], **{k: real(v) for k, v in kwargs.items()})
        single = isinstance(results, torch.Tensor)
        made = []
        for r in [results] if single else results:
            made.append(Value(r, f"%v{self.count}"))
            self.count += 1
        texts = [arg_text(a, {}) for a in args] + [f"{k}={arg_text(v, {})}" for k, v in kwargs.items()]
        self.lines.append(f"  {', '.join(v.name for v in made)} = {op}({', '.join(texts)})")
        self.ops.append(op)
        return made[0] if single else made


class Writer:
    """Collects the cases of one family."""

    def __init__(self):
        self.lines, self.names, self.count, self.ops, self.problems = [], {}, 0, set(), []

    def add(self, op, *args, name=None, where=None, sizes=None, tol=None, refused=None, torch_fn=None, within=None, **kwargs):
        """One case: `op` on the arguments. `where={"s0": (2, 6)}` gives the ranges of symbols; a call is made for each of `sizes`
        (default: both ends). `refused`: compiling must end with such a message. `torch_fn`: computes the result instead of the operator. `within=(low, high)`:
        a random result, of which dtype, sizes and range count; (-inf, inf) takes any values (`empty`)."""
        try:
            self._add(op, args, name, where or {}, sizes, tol, refused, torch_fn, within, kwargs)
        except NotImplementedError:  # a dtype that torch lacks
            pass
        except Exception as e:
            self.problems.append(f"{op} {name or ''}: {type(e).__name__}: {str(e).splitlines()[0]}")

    def graph(self, name, body, *operands, where=None, sizes=None, tol=None, step=None, refused=None, integers=None, weights=None):
        """Several operators: `body(op, *operands)` calls `op("aten.relu", x)`, which gives a value for further calls, and returns what the
        method returns. `step`: of a quantized result; one element in twenty, or one, may be so far from torch's. `integers`: how many of the XNNPACK
        delegate's products, sums, means and maxima have to be of integers; `weights`: how many of floats with a weight of integers."""
        try:
            self._graph(name, body, operands, where or {}, sizes, tol, step, refused, integers, weights)
        except Exception as e:
            self.problems.append(f"graph {name}: {type(e).__name__}: {str(e).splitlines()[0]}")

    def _graph(self, name, body, operands, where, sizes, tol, step, refused, integers, weights):
        operands = copied(operands)
        specs = list(flat_tensors(operands))
        name = name.replace(" ", "")
        n = self.names[("graph", name)] = self.names.get(("graph", name), 0) + 1
        name += f"~{n}" if n > 1 else ""
        calls = []
        for symbols in sizes or ends(where):
            made, op = {"lines": [], "results": [], "weights": [], "outputs": []}, Calls(symbols)
            reals = [filled(t, f"graph/{name}", made, symbols) for t in specs]
            values = {id(t): Value(r, f"%x{k}") for k, (t, r) in enumerate(zip(specs, reals))}
            as_values = lambda a: values[id(a)] if isinstance(a, T) else [as_values(v) for v in a] if isinstance(a, (list, tuple)) else a
            returned = body(op, *[as_values(a) for a in operands])
            returned = returned if isinstance(returned, (list, tuple)) else [returned]
            made["results"] = [result_line(v.real) for v in returned]
            calls.append((made, op, [with_layout(v.name, v.real) for v in returned]))
        made, op, returned = calls[0]
        constants, inputs = declared(specs, made["weights"])
        program = [*constants, method_line(inputs, where), *op.lines, f"  return {', '.join(returned)}", "}"]
        self._write("graph", name, program, [c[0] for c in calls], tol, refused, step=step, integers=integers, weights=weights)
        self.ops.update(op.ops)

    def _write(self, op, name, program, calls, tol, refused, within=None, step=None, integers=None, weights=None):
        out = [f"case {op} {name}"]
        if tol is not None: out.append("tolerance %g %g" % (tol if isinstance(tol, tuple) else (tol, tol)))
        if refused: out.append(f"refused {refused}")
        if within: out.append("within %g %g" % within)
        if step: out.append(f"step {step:g}")
        if integers is not None or weights is not None: out.append(f"integers {integers or 0} {weights or 0}")
        out += ["| " + line for line in program]
        for call in calls if not refused else []:
            results = [" ".join(r.split()[:3]) for r in call["results"]] if within else call["results"]
            out += ["call", *call["lines"], *results]
        self.lines += out + [""]
        self.count += 1

    def _add(self, op, args, name, where, sizes, tol, refused, torch_fn, within, kwargs):
        args, kwargs = copied(args), {k: copied(v) for k, v in kwargs.items()}
        specs = [t for t in flat_tensors([*args, *kwargs.values()])]
        name = (
            name
            or "_".join(t.type_text().replace(", ", "x").replace("[", "_").replace("]", "").replace(" ", "") for t in specs[:2])
            or "plain"
        )
        n = self.names[(op, name)] = self.names.get((op, name), 0) + 1
        name += f"~{n}" if n > 1 else ""
        calls = [self._call(op, args, kwargs, symbols, torch_fn, refused, name) for symbols in sizes or ends(where)]
        self._write(op, name, self._program(op, args, kwargs, where, specs, calls[0]), calls, tol, refused, within)
        self.ops.add(op)

    def _call(self, op, args, kwargs, symbols, torch_fn, refused, name):
        made = {"lines": [], "results": [], "weights": [], "outputs": [], "results_of_operator": 0}

        def real(a):
            if isinstance(a, T): return filled(a, f"{op}/{name}", made, symbols)
            if isinstance(a, Sym): return a.value(symbols)
            if isinstance(a, (list, tuple)): return [real(v) for v in a]
            return a

        if refused and not torch_fn: torch_fn = lambda *a, **k: [torch.zeros(1)] * len(torch_op(op)._schema.returns)
        a, k = [real(v) for v in args], {n: real(v) for n, v in kwargs.items()}
        result = (torch_fn or torch_op(op))(*a, **k)
        if result is None and not torch_fn: result = [t for n in written_names(op) for t in k[n]]  # lists that are written to
        if torch_fn and op.startswith("aten."):  # results that `torch_fn` leaves out are not compared
            made["results_of_operator"] = len(torch_op(op)._schema.returns)
        for r in result if isinstance(result, (list, tuple)) else [result]:
            if isinstance(r, torch.Tensor):
                if r.is_quantized: raise ValueError("a quantized result")
                made["outputs"].append(r)
                made["results"].append(result_line(torch.view_as_real(r.resolve_conj()) if r.is_complex() else r))
            elif r is not None:
                made["outputs"].append(r)
                made["results"].append(f"out number {number_text(r)}")
        return made

    def _program(self, op, args, kwargs, where, specs, call):
        names = {id(t): f"%x{k}" for k, t in enumerate(specs)}
        lines, inputs = declared(specs, call["weights"])
        lines.append(method_line(inputs, where))
        for k, t in enumerate(specs):
            if t.dtype not in PARTS: continue
            lines.append(f"  %z{k} = aten.view_as_complex(%x{k}) : {t.type_text()}")
            names[id(t)] = f"%z{k}"
        texts = [arg_text(a, names) for a in args]
        texts += [f"{k}={arg_text(v, names)}" for k, v in kwargs.items()]
        outputs = [f"%y{i}" for i in range(max(len(call["outputs"]), 1, call["results_of_operator"]))]
        types = ""
        base = op.split(".")[1]
        if base.startswith("__i") or (base.endswith("_") and not base.startswith("__")):  # in place: on a copy
            lines.append(f"  %c = aten.clone({texts[0]})")
            texts[0] = "%c"
            result = call["outputs"][0]
            same = list(result.shape) == specs[0].sizes({n: r[0] for n, r in where.items()})
            types = " : " + (specs[0].type_text() if same else f"{NAMES[result.dtype]}[{', '.join(map(str, result.shape))}]")
        written = written_names(op)
        if written:  # out=: a copy of the operand
            given = [t for n in written for t in (kwargs[n] if isinstance(kwargs[n], list) else [kwargs[n]])]
            for k, t in enumerate(given):
                lines.append(f"  %o{k} = aten.clone({names[id(t)]})")
                names[id(t)] = f"%o{k}"
            texts = [arg_text(a, names) for a in args] + [f"{k}={arg_text(v, names)}" for k, v in kwargs.items()]
            results = [f"{NAMES[r.dtype]}[{', '.join(map(str, r.shape))}]" for r in call["outputs"]]
            types = " : " + ", ".join(results)
        if any(isinstance(r, torch.Tensor) and r.is_complex() for r in call["outputs"]) or any(t.dtype in PARTS for t in specs):
            types = " : " + ", ".join(f"{NAMES[r.dtype]}[{', '.join(map(str, r.shape))}]" for r in call["outputs"])
        if written and not torch_op(op)._schema.returns:
            lines.append(f"  {op}({', '.join(texts)})")
            outputs = [f"%o{k}" for k in range(len(outputs))]
        else:
            lines.append(f"  {', '.join(outputs)} = {op}({', '.join(texts)}){types}")
        for k, r in enumerate(call["outputs"]):
            if not isinstance(r, torch.Tensor) or not r.is_complex(): continue
            lines.append(f"  %v{k} = aten.view_as_real(%y{k})")
            outputs[k] = f"%v{k}"
        returned = [with_layout(text, r) for text, r in zip(outputs, call["outputs"] or [None])]
        return lines + [f"  return {', '.join(returned)}", "}"]


def ends(where):
    """Both ends of all ranges."""
    return [{s: r[0] for s, r in where.items()}, {s: r[1] for s, r in where.items()}] if where else [{}]


def filled(t, case, made, symbols):
    """The operand's tensor; its line or its values go to what is made of the case."""
    tensor, line, values = t.fill(seed(case, len(made["lines"]) + len(made["weights"])), symbols)
    if t.weight: made["weights"].append(values)
    else: made["lines"].append(line)
    return tensor


def declared(specs, weights):
    """Lines of the constants, and what stands between the method's parentheses."""
    lines, inputs, weights = [], [], iter(weights)
    for k, t in enumerate(specs):
        spec = ""
        if t.weight:
            values = ", ".join(number_text(v) for v in next(weights))
            spec = f' = parameter "w{k}" #{len(lines)}'
            lines.append(f'constant #{len(lines)} "w{k}" {t.type_text()} = [{values}]')
        inputs.append(f"%x{k}: {(t.pairs() if t.dtype in PARTS else t).type_text()}{spec}")
    return lines, inputs


def method_line(inputs, where):
    facts = ", ".join(f"{s} in {r[0]}..{r[1]}" for s, r in where.items())
    return f"method @forward({', '.join(inputs)}){' where ' + facts if facts else ''} {{"


def result_line(r):
    return f"out {NAMES[r.dtype]} {shape_text(r.shape)} {base64.b64encode(bytes_of(r)).decode()}".rstrip()


def with_layout(text, r):
    order = layout_of(r)
    return text + (f" order {{{','.join(map(str, order))}}}" if order else "")


def written_names(op):
    return [p.name for p in torch_op(op)._schema.arguments if p.kwarg_only and p.is_write] if op.startswith("aten.") else []


def layout_of(r):
    if not isinstance(r, torch.Tensor) or r.is_complex() or r.dim() not in (4, 5) or r.is_contiguous(): return None
    form = torch.channels_last if r.dim() == 4 else torch.channels_last_3d
    return [0, *range(2, r.dim()), 1] if r.is_contiguous(memory_format=form) else None


def copied(a):
    """A tensor used twice is two inputs."""
    if isinstance(a, T): return a()
    return [copied(v) for v in a] if isinstance(a, (list, tuple)) else a


def flat_tensors(args):
    for a in args:
        if isinstance(a, T): yield a
        elif isinstance(a, (list, tuple)): yield from flat_tensors(a)


def arg_text(a, names):
    if isinstance(a, T): return names[id(a)]
    if isinstance(a, Value): return a.name
    if isinstance(a, Sym): return "{" + a.text + "}"
    if a is None: return "none"
    if isinstance(a, bool): return "true" if a else "false"
    if isinstance(a, float): return repr(a)
    if isinstance(a, torch.dtype): return NAMES[a]
    if isinstance(a, torch.memory_format): return str(a).removeprefix("torch.")
    if isinstance(a, complex): return f"[{a.real!r}, {a.imag!r}]"
    if isinstance(a, torch.device): return "none"
    if isinstance(a, str): return '"' + a + '"'
    if isinstance(a, (list, tuple)): return "[" + ", ".join(arg_text(v, names) for v in a) + "]"
    return str(a)


def bytes_of(t):
    t = t.detach().clone(memory_format=torch.contiguous_format)
    return t.reshape(-1).view(U8).numpy().tobytes() if t.numel() else b""

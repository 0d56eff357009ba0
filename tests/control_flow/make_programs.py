#!/usr/bin/env python3
"""Random programs with control flow, exported by torch and run by it: the programs as edgec's text IR, inputs, results.

  make_programs.py --edgec build/release/bin/edgec --seeds 0:2200 --out tests/control_flow/programs.zip
  make_programs.py --seeds 17:18 --show        the Python source of one program

A program is made of statements that compute tensors (f32[3], and f32[n, 3] of dynamic length), numbers as rank-0
tensors (int64, float32, bool) and symbolic integers; of torch.cond, while_loop, map and scan up to three deep, whose
bodies are made of the same statements and use values from around them. Wants torch 2.13. Values stay small and
predicates compare what is far apart or exact, so that another order of summation gives the same way through a program.
"""
import argparse, pathlib, random, subprocess, sys, tempfile, textwrap, zipfile

KINDS = "tifbx"  # f32[3]; rank-0 int64, float32, bool; f32[n, 3]


class Generator:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.lines, self.names = [], 0
        self.loops = 0
        self.flow = 0  # control-flow operators so far

    def name(self, kind):
        self.names += 1
        return f"{kind}{self.names}"

    def put(self, indent, text):
        self.lines.append("    " * indent + text)

    def pick(self, env, kind):
        return self.r.choice([v for v in env if v[0] == kind])

    # ---- expressions

    def expression(self, env, kind):
        r = self.r
        t, i, f, b = (lambda: self.pick(env, "t")), (lambda: self.pick(env, "i")), (lambda: self.pick(env, "f")), (lambda: self.pick(env, "b"))
        symbols = [v for v in env if v[0] == "n"]
        if kind == "t":
            forms = [lambda: f"torch.tanh({t()} * 0.7 + {t()})", lambda: f"torch.sin({t()} - {f()})", lambda: f"{t()} * 0.5 + {i()} * 0.125",
                     lambda: f"torch.where({b()}, {t()}, {t()} * 0.5)", lambda: f"torch.relu({t()}) - {t()} * 0.25",
                     lambda: f"torch.maximum({t()}, {t()} * {f()}).clamp(-3, 3)", lambda: f"{t()}.flip(0)", lambda: f"self.w * {t()}",
                     lambda: f"{self.pick(env, 'x')}.sum(0) * 0.25"]
            if symbols:
                forms.append(lambda: f"{t()} * 0.5 + {r.choice(symbols)}")
        elif kind == "i":
            forms = [lambda: f"({i()} * 3 + 1) % 7", lambda: f"{i()} - {i()} % 5", lambda: f"torch.where({b()}, {i()}, {i()} + 1).clamp(-50, 50)",
                     lambda: f"({i()} + {r.randint(-3, 3)}).clamp(-40, 40)", lambda: f"({t()} > 0).sum()"]
            if symbols:
                forms.append(lambda: f"({i()} + {r.choice(symbols)}) % 9")
        elif kind == "f":
            forms = [lambda: f"torch.tanh({f()} + 0.3 * {i()})", lambda: f"{f()} * 0.5 + 0.25", lambda: f"{t()}.mean() * 0.5", lambda: f"torch.where({b()}, {f()}, -{f()})"]
        elif kind == "x":
            x = lambda: self.pick(env, "x")
            forms = [lambda: f"torch.tanh({x()} * 0.5 + {t()})", lambda: f"{x()} * 0.5 - {x()} * {f()}", lambda: f"torch.where({b()}, {x()}, {x()} * 0.25)",
                     lambda: f"{x()} - {x()}.sum(0, keepdim=True) * 0.125", lambda: f"{x()}.flip(0)", lambda: f"{x()} * 0.5 + {i()} * 0.125"]
        else:
            forms = [lambda: f"{i()} > {r.randint(-2, 4)}", lambda: f"{i()} % 2 == {i()} % 2", lambda: f"~{b()}", lambda: f"{b()} & {b()}", lambda: f"{b()} ^ ({i()} < {i()})"]
        return r.choice(forms)()

    def statements(self, env, indent, depth, count):
        for _ in range(count):
            flow = depth > 0 and self.flow < 7 and self.r.random() < (0.55 if depth == 3 else 0.4)
            if flow:
                self.flow += 1
                self.r.choice([self.cond, self.cond, self.while_loop, self.while_loop, self.symbolic_while, self.scan, self.map])(env, indent, depth)
            else:
                kind = self.r.choice("ttttiifbxx")
                made = self.expression(env, kind)
                name = self.name(kind)
                self.put(indent, f"{name} = {made}")
                env.append(name)

    def returned(self, kinds, env, indent, of_old):
        """What a body gives out. Sometimes a value that it got, which torch wants as a clone."""
        out = []
        for k in kinds:
            if self.r.random() < of_old:
                out.append(f"{self.pick(env, k)}.clone()")
            else:
                n = self.name(k)
                self.put(indent, f"{n} = {self.expression(env, k)}")
                out.append(f"{n} + 0" if k in "tifx" and self.r.random() < 0.2 else f"{n}.clone()" if k == "b" else n)
        return out

    def kinds(self, least, most):
        return [self.r.choice("tttifbx") for _ in range(self.r.randint(least, most))]

    # ---- control flow. Each gives names to `env`.

    def cond(self, env, indent, depth):
        kinds = self.kinds(1, 3)
        yes, no = self.name("yes"), self.name("no")
        symbols = [v for v in env if v[0] == "n"]
        for fn in (yes, no):
            self.put(indent, f"def {fn}():")
            inner = list(env)
            self.statements(inner, indent + 1, depth - 1, self.r.randint(0, 3))
            self.put(indent + 1, f"return ({', '.join(self.returned(kinds, inner, indent + 1, 0.3))},)")
        pred = f"{self.r.choice(symbols)} > {self.r.randint(1, 5)}" if symbols and self.r.random() < 0.3 else self.pick(env, "b")
        outs = [self.name(k) for k in kinds]
        self.put(indent, f"{', '.join(outs)}, = torch.cond({pred}, {yes}, {no}, ())")
        env.extend(outs)

    def limit(self, env, depth):
        most = {3: 20, 2: 6, 1: 3}[depth]
        if self.r.random() < 0.5:
            return f"{self.pick(env, 'i')}.clamp(0, {most})"
        return str(self.r.randint(0, most))

    def while_loop(self, env, indent, depth):
        kinds = ["i"] + self.kinds(1, 4)
        test, body = self.name("test"), self.name("body")
        bound = self.name("i")
        self.put(indent, f"{bound} = torch.zeros((), dtype=torch.int64) + {self.limit(env, depth)}")
        inits = ["torch.zeros((), dtype=torch.int64)"] + [self.pick(env, k) + ".clone()" for k in kinds[1:]]
        args = [self.name(k) for k in kinds]
        flags = [a for a in args if a[0] == "b"]
        self.put(indent, f"def {test}({', '.join(args)}):")
        also = f" & {self.r.choice(flags)}" if flags and self.r.random() < 0.3 else ""
        self.put(indent + 1, f"return ({args[0]} < {bound}){also}")
        self.put(indent, f"def {body}({', '.join(args)}):")
        inner = list(env) + args
        self.statements(inner, indent + 1, depth - 1, self.r.randint(0, 3))
        new = self.returned(kinds[1:], inner, indent + 1, 0.2)
        # Carries that swap places.
        for k in set(kinds[1:]):
            at = [j for j in range(1, len(kinds)) if kinds[j] == k]
            if len(at) > 1 and self.r.random() < 0.5:
                for j, other in zip(at, at[1:] + at[:1]):
                    new[j - 1] = f"{args[other]}.clone()"
        self.put(indent + 1, f"return {', '.join([args[0] + ' + 1'] + new)}")
        outs = [self.name(k) for k in kinds]
        self.put(indent, f"{', '.join(outs)} = while_loop({test}, {body}, ({', '.join(inits)}))")
        env.extend(outs)

    def symbolic_while(self, env, indent, depth):
        """Carries integers that are no tensors: torch can save these when they start as sizes."""
        count = self.r.randint(1, 2)
        test, body = self.name("test"), self.name("body")
        args = [self.name("m") for _ in range(count)] + [self.name("t"), self.name("i")]
        inits = (["self_n", "self_n * 2"] if self.r.random() < 0.5 else ["self_n + 1", "self_n * 3 - 1"])[:count]
        inits = [i.replace("self_n", "n1") for i in inits] + [self.pick(env, "t") + ".clone()", self.pick(env, "i") + ".clone()"]
        self.put(indent, f"def {test}({', '.join(args)}):")
        self.put(indent + 1, f"return {args[0]} > {self.r.randint(1, 3)}")
        self.put(indent, f"def {body}({', '.join(args)}):")
        inner = [v for v in env if v[0] != "n"] + args[count:]
        self.put(indent + 1, f"{args[-2]}_ = {args[-2]} * 0.5 + {self.r.choice(args[:count])}")
        inner.append(f"{args[-2]}_")
        self.statements(inner, indent + 1, depth - 1, self.r.randint(0, 2))
        new = self.returned("ti", inner, indent + 1, 0.2)
        numbers = [f"{args[0]} - 1"] if count == 1 else self.r.choice([[f"{args[1]} - 2", args[0]], [f"{args[0]} - 1", f"{args[0]} + {args[1]}"], [f"{args[0]} - 2", f"{args[1]} - {args[0]}"]])
        self.put(indent + 1, f"return {', '.join(numbers + new)}")
        outs = [self.name("m") for _ in range(count)] + [self.name("t"), self.name("i")]
        self.put(indent, f"{', '.join(outs)} = while_loop({test}, {body}, ({', '.join(inits)}))")
        for m in outs[:count]:
            t = self.name("t")
            self.put(indent, f"{t} = {outs[-2]} * 0.5 + {m} * 0.25")
            env.append(t)
        env.extend(outs[count:])

    def rows(self):
        return self.r.choice(["x0", "self.rows"])

    def scan(self, env, indent, depth):
        kinds = ["t"] + self.kinds(0, 1)
        step = self.name("step")
        args = [self.name(k) for k in kinds] + [self.name("t")]
        self.put(indent, f"def {step}(carry, {args[-1]}):")
        self.put(indent + 1, f"{', '.join(args[:-1])}, = carry")
        inner = list(env) + args
        self.statements(inner, indent + 1, depth - 1, self.r.randint(0, 2))
        new = self.returned(kinds, inner, indent + 1, 0.2)
        row = self.returned("t", inner, indent + 1, 0.2)[0]
        self.put(indent + 1, f"return ({', '.join(new)},), {row} * 1.0")
        outs = [self.name(k) for k in kinds]
        stacked = self.name("s")
        inits = ", ".join(self.pick(env, k) + ".clone()" for k in kinds)
        reverse = ", reverse=True" if self.r.random() < 0.2 else ""
        self.put(indent, f"({', '.join(outs)},), {stacked} = scan({step}, ({inits},), {self.rows()}{reverse})")
        total = self.name("t")
        self.put(indent, f"{total} = {stacked}.sum(0) * 0.25")
        env.extend(outs + [total])

    def map(self, env, indent, depth):
        fn, arg = self.name("fn"), self.name("t")
        self.put(indent, f"def {fn}({arg}):")
        inner = list(env) + [arg]
        self.statements(inner, indent + 1, depth - 1, self.r.randint(0, 2))
        self.put(indent + 1, f"return {self.returned('t', inner, indent + 1, 0)[0]}")
        stacked, total = self.name("s"), self.name("t")
        self.put(indent, f"{stacked} = hop_map({fn}, {self.rows()})")
        self.put(indent, f"{total} = {stacked}.sum(0) * 0.25")
        env.extend([total])

    # ---- a program

    def source(self):
        env = ["t0", "f0", "i0", "i00", "b0", "n1", "x0", "tstate"]
        self.put(2, "n1, tstate = x0.shape[0], self.state")
        depth = self.r.randint(1, 3)
        while self.flow == 0:
            self.statements(env, 2, depth, self.r.randint(1, 3))
            if self.r.random() < 0.3:  # what branches and loops have read or will read is written
                self.put(2, f"self.state.copy_({self.expression(env, 't')})")
        results = self.r.sample([v for v in env if v[0] in KINDS], k=4)
        results += [v for v in env[-2:] if v[0] in KINDS and v not in results]
        self.put(2, f"return ({', '.join(v + '.clone()' for v in results)},)")
        head = """
        import torch
        from torch._higher_order_ops.while_loop import while_loop
        from torch._higher_order_ops.scan import scan
        from torch._higher_order_ops.map import map as hop_map
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.tensor([0.75, -0.5, 1.25]))
                self.register_buffer("state", torch.tensor([0.25, 0.5, -0.5]))
                self.register_buffer("rows", torch.tensor([[0.5, -1.0, 0.25], [1.0, 0.125, -0.75]]))
            def forward(self, x0, t0, f0, i0, i00, b0):
        """
        return textwrap.dedent(head).strip() + "\n" + "\n".join(self.lines) + "\n"


def inputs(seed, call, torch):
    r = random.Random(seed * 31 + call)
    g = torch.Generator().manual_seed(seed * 31 + call)
    rows = [4, r.randint(2, 8), r.choice([0, 1, 1, 6, 8])][call]
    return (torch.randn(rows, 3, generator=g), torch.randn(3, generator=g), torch.tensor(r.uniform(-1, 1)),
            torch.tensor(r.choice([0, 1, 2, 3, 5, 8, 13, 20])), torch.tensor(r.randint(-5, 20)), torch.tensor(r.random() < 0.5))


def listed(t):
    kind = {"torch.float32": "f32", "torch.int64": "i64", "torch.bool": "bool"}[str(t.dtype)]
    values = " ".join(format(v, ".9g") if kind == "f32" else str(int(v)) for v in t.flatten().tolist())
    return f"{kind} [{', '.join(map(str, t.shape))}] {values}".rstrip()


def make(seed, edgec, torch):
    """The text of one program, or None when torch refuses it."""
    space = {}
    exec(compile(Generator(seed).source(), f"seed{seed}", "exec"), space)
    model = space["Model"]().eval()
    dynamic = ({0: torch.export.Dim("n", max=8)},) + (None,) * 5
    torch._dynamo.reset()
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(model, inputs(seed, 0, torch), dynamic_shapes=dynamic)
        archive, text = pathlib.Path(folder) / "model.pt2", pathlib.Path(folder) / "model.ir"
        torch.export.save(exported, str(archive))
        done = subprocess.run([edgec, "compile", str(archive), "-o", str(text) + ".pte", f"--dump-ir=aten={text}"], capture_output=True, text=True)
        if not text.exists():
            raise RuntimeError(done.stderr)
        run = exported.module()
        calls = []
        for call in range(3):  # one after the other: the state goes on
            args = inputs(seed, call, torch)
            try:
                results = run(*args)
            except (RuntimeError, AssertionError, IndexError):  # a length that the export excludes
                break
            if not all(torch.isfinite(v).all() for v in results):
                return None
            calls.append("call\n" + "".join(f"input {listed(v)}\n" for v in args) + "".join(f"output {listed(v)}\n" for v in results))
        if not calls:
            return None
        return f"program {seed}\n{text.read_text()}{''.join(calls)}end\n", done.stderr if done.returncode else ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--edgec")
    p.add_argument("--seeds", default="0:2000", help="FIRST:END")
    p.add_argument("--out", help="a zip of text files; those that it has already are kept")
    p.add_argument("--show", action="store_true")
    a = p.parse_args()
    first, end = map(int, a.seeds.split(":"))
    if a.show:
        return print("\n".join(Generator(s).source() for s in range(first, end)))
    import logging, warnings, torch
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    made, refused = [], {}
    for seed in range(first, end):
        try:
            result = make(seed, a.edgec, torch)
        except Exception as e:  # torch refuses some programs; they are left out
            refused[seed] = f"{type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}"
            continue
        if result is None:
            continue
        made.append(result[0])
        if result[1]:
            print(f"seed {seed}: {result[1].strip()}", file=sys.stderr)
    for seed, why in refused.items():
        print(f"seed {seed} left out: {why[:200]}", file=sys.stderr)
    with zipfile.ZipFile(a.out, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        z.writestr(zipfile.ZipInfo(f"programs_{first:05}.txt"), "".join(made), zipfile.ZIP_DEFLATED, 9)
    print(f"{len(made)} programs of {end - first} seeds")


if __name__ == "__main__":
    sys.exit(main())

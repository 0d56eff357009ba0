#!/usr/bin/env python3
"""The command line from outside: exit codes, messages, files left and kept.

  cli_test.py [--edgec FILE] [--plugins FOLDER] [unittest options, e.g. Compile.test_bounds]
"""
import array, ast, json, os, pathlib, re, resource, signal, subprocess, sys, tempfile, time, unittest, zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/models/data"
EDGEC = str(ROOT / "build/release/bin/edgec")
PLUGINS = ROOT / "build/release/plugins"
COMMANDS = ("compile", "run", "inspect", "verify", "plan", "genai", "ops", "passes", "backends")


sys.path.insert(0, str(ROOT / "tests/harness"))
import npy, xnnpack_payload


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmp = pathlib.Path(folder.name)

    def edgec(self, *args, stdin=None, **kwargs):
        return subprocess.run([EDGEC, *map(str, args)], input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                              capture_output=True, timeout=300, **kwargs)

    def ends(self, code, *args, says=None, **kwargs):
        """Runs edgec: the exit code, and what stderr says (or that it says something when the code is not 0)."""
        r = self.edgec(*args, **kwargs)
        err = r.stderr.decode(errors="replace")
        self.assertEqual(r.returncode, code, f"{args}: {err}")
        if code:
            self.assertTrue(err.strip(), f"{args}: no message")
        for text in [says] if isinstance(says, str) else says or []:
            self.assertIn(text, err)
        return r

    def program(self, name="mlp", *options):
        pte = self.tmp / f"{name}.pte"
        self.ends(0, "compile", DATA / name / "model.pt2", "-o", pte, *options)
        return pte

    def inputs(self, name="mlp"):
        call = json.loads((DATA / name / "meta.json").read_text())["calls"][0]
        return ",".join(str(DATA / name / v["file"]) for v in call["inputs"])

    def names(self):
        return sorted(p.name for p in self.tmp.iterdir())


class General(Case):
    def test_help_of_every_command(self):
        self.assertIn("Exit codes", self.ends(0, "--help").stdout.decode())
        for command in COMMANDS:
            text = self.ends(0, command, "--help").stdout.decode()
            self.assertIn("--help", text)
            self.assertIn(command, text)
        self.assertTrue(self.ends(0, "--version").stdout.decode().startswith("edgec "))

    def test_archives_of_the_tree_name_no_folders(self):
        for path in [*ROOT.glob("tests/**/*.pt2"), *ROOT.glob("examples/**/*.pt2")]:
            with zipfile.ZipFile(path) as z:
                for name in z.namelist():
                    self.assertIsNone(re.search(rb'File \\\\*"/', z.read(name)), f"{path}: {name} (scripts/strip_paths.py)")

    def test_wrong_usage(self):
        self.ends(2, says="Usage")
        self.ends(2, "no-such-command")
        for command in COMMANDS:
            self.ends(2, command, "--no-such-option", says=f"edgec {command} --help")
        for command in ("compile", "run", "inspect", "verify", "plan"):
            self.ends(2, command)

    def test_response_file(self):
        (self.tmp / "args").write_text(f"compile '{DATA / 'mlp/model.pt2'}'\n -o \"{self.tmp / 'a b.pte'}\"\n")
        self.ends(0, f"@{self.tmp / 'args'}")
        self.assertTrue((self.tmp / "a b.pte").exists())
        self.ends(3, f"@{self.tmp / 'missing'}")
        (self.tmp / "open").write_text("compile 'x")
        self.ends(2, f"@{self.tmp / 'open'}")
        (self.tmp / "self").write_text(f"@{self.tmp / 'self'}")
        self.ends(2, f"@{self.tmp / 'self'}")

    def test_results_that_do_not_reach_stdout(self):
        pte = self.program()
        with open("/dev/full", "wb") as full:
            for args in (["ops"], ["passes"], ["backends", "--markdown"], ["inspect", pte], ["inspect", DATA / "mlp/model.pt2"],
                         ["verify", pte], ["compile", DATA / "mlp/model.pt2", "-o", "-"]):
                code = subprocess.run([EDGEC, *map(str, args)], stdout=full, stderr=subprocess.PIPE).returncode
                self.assertEqual(code, 4, args)


class Compile(Case):
    MODEL = DATA / "mlp/model.pt2"

    def test_operators_that_write(self):
        ops = self.tmp / "ops.txt"
        ops.write_text("my::decay_(Tensor(a!) state, Tensor x, float rate) -> ()\n  kernel: my::decay_\n")
        for name in ("writing_op", "writing_op_core"):  # as called, and in auto_functionalized
            model, pte = ROOT / f"tests/cli/data/{name}.pt2", self.tmp / f"{name}.pte"
            self.ends(1, "compile", model, "-o", pte, says=["my.decay_", "--ops FILE"])
            self.ends(0, "compile", model, "-o", pte, "--ops", ops, "--verify-passes")
            self.ends(0, "verify", model, pte, "--ops", ops)
            self.assertEqual(self.ends(0, "inspect", pte).stdout.decode().count(" my::decay_("), 2)

    def test_quantized_io(self):
        """The caller quantizes by the numbers of the constant methods; the results are those of the float program within one step."""
        def read(path):
            data = path.read_bytes()
            at = 10 + int.from_bytes(data[8:10], "little")
            header = ast.literal_eval(data[10:at].decode())
            return header, list(array.array({"<f4": "f", "|i1": "b"}[header["descr"]], data[at:]))

        def number(method):
            self.ends(0, "run", pte, "--method", method, "--inputs", "", "--output-dir", self.tmp / method)
            return json.loads((self.tmp / method / "outputs.json").read_text())["calls"][0]["outputs"][0]["value"]

        name = "q_linear_static"
        pte = self.program(name, "--quantized-io", "--verify-passes")
        self.ends(0, "verify", DATA / name / "model.pt2", pte)
        header, values = read(DATA / name / "inputs/0.npy")
        scale, zp, low, high = (number(f"forward_input0_{key}") for key in ("scale", "zp", "quant_min", "quant_max"))
        self.assertEqual(number("forward_input0_dtype"), 1)  # int8
        integers = array.array("b", [int(min(max(round(v / scale) + zp, low), high)) for v in values])
        text = str({**header, "descr": "|i1"}).ljust(117) + "\n"
        (self.tmp / "q.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + integers.tobytes())
        self.ends(1, "run", pte, "--inputs", DATA / name / "inputs/0.npy", says="int8")
        self.ends(0, "run", pte, "--inputs", self.tmp / "q.npy", "--output-dir", self.tmp / "q")
        header, results = read(self.tmp / "q/0/0.npy")
        self.assertEqual(header["descr"], "|i1")
        scale, zp = number("forward_output0_scale"), number("forward_output0_zp")
        for got, wanted in zip(results, read(DATA / name / "expected/0.npy")[1], strict=True):
            self.assertLessEqual(abs((got - zp) * scale - wanted), 1.001 * scale)
        self.ends(1, "compile", DATA / name / "model.pt2", "-o", pte, "--quantized-io", "--constant", "forward_input0_zp=1",
                  says="forward_input0_zp")
        plain = self.program(name)  # not asked for
        self.ends(0, "run", plain, "--inputs", DATA / name / "inputs/0.npy", "--output-dir", self.tmp / "f")

    USER_OPS = """# a comment
my::scaled(Tensor x, Tensor w, int n, float scale=1.0) -> Tensor
  shape: x.shape[0], x.shape[1] * n
  dtype: x
  kernel: my::scaled.out
"""

    def test_user_operators(self):
        model, pte, ops = ROOT / "tests/cli/data/user_op.pt2", self.tmp / "u.pte", self.tmp / "ops.txt"
        self.ends(1, "compile", model, "-o", pte, says=["my.scaled is not supported", "--ops FILE", "make_data.py"])
        ops.write_text(self.USER_OPS)
        self.ends(0, "compile", model, "-o", pte, "--ops", ops)
        self.ends(1, "verify", pte, says="the runtime has no operator my::scaled.out")
        self.ends(0, "verify", pte, "--ops", ops)
        self.ends(0, "verify", model, pte, "--ops", ops)
        self.assertIn("my::scaled.out", self.ends(0, "inspect", pte).stdout.decode())
        self.ends(1, "run", pte, "--inputs", "1,2", "--output-dir", self.tmp / "out")
        ops.write_text(self.USER_OPS.replace("x.shape[1] * n", "x.shape[1]"))
        self.ends(1, "compile", model, "-o", pte, "--ops", ops, says="f32[s77, 4] by its declaration")
        ops.write_text(self.USER_OPS.replace("dtype: x", "dtype: y"))
        self.ends(3, "compile", model, "-o", pte, "--ops", ops, says=['ops.txt:2', 'no tensor parameter "y"'])
        self.ends(3, "compile", model, "-o", pte, "--ops", self.tmp / "missing")

    def test_user_kernels_run(self):
        """Programs with operators of the user's own, their kernels from a library that `run` loads: torch's results, call after call."""
        kernels, ops = PLUGINS / "user_kernels.so", self.tmp / "ops.txt"
        ops.write_text(self.USER_OPS + "my::decay_(Tensor(a!) state, Tensor x, float rate) -> ()\n  kernel: my::decay_\n"
                       "my::step(Tensor(a!) a, Tensor x, Tensor(b!) b, float rate) -> Tensor\n  shape: like a\n  dtype: a\n  kernel: my::step.out\n")
        expected = json.loads((ROOT / "tests/cli/data/user_kernels.json").read_text())
        for name in ("user_op", "writing_op", "writing_op_core", "writing_views", "writing_views_core"):
            pte, args = self.tmp / f"{name}.pte", []
            self.ends(0, "compile", ROOT / f"tests/cli/data/{name}.pt2", "-o", pte, "--ops", ops, "--verify-passes")
            calls = expected[name.removesuffix("_core")]
            for i, call in enumerate(calls):
                files = [self.tmp / f"{name}-{i}-{k}.npy" for k in range(len(call["inputs"]))]
                for file, value in zip(files, call["inputs"]):
                    npy.write(file, "float32", value["shape"], value["data"])
                args += ["--inputs", ",".join(map(str, files))]
            self.ends(0, "run", pte, *args, "--plugin", kernels, "--plugin", kernels, "--output-dir", self.tmp / name)
            for i, call in enumerate(calls):
                for k, wanted in enumerate(call["outputs"]):
                    got = npy.read(self.tmp / name / f"{i}/{k}.npy")
                    self.assertEqual(got.shape, wanted["shape"])
                    for a, b in zip(got.data, wanted["data"], strict=True):
                        self.assertAlmostEqual(a, b, delta=1e-5)
            self.ends(1, "run", pte, *args, says="my::")
        self.ends(2, "run", pte, *args, "--plugin", PLUGINS / "no_plugin.so", says="registers no kernel and no delegate")
        self.ends(2, "run", pte, *args, "--plugin", self.tmp / "missing.so", says=["--plugin", "missing.so"])

    def test_sizes_outside_of_their_ranges(self):
        """bert_dyn takes [1 to 4, 2 to 32]: at the bounds it runs; one beyond is an error, also when the elements would fit the memory."""
        for options in ((), ("--backend", "xnnpack")):
            pte = self.program("bert_dyn", *options)
            for batch, length, code in ((1, 2, 0), (4, 32, 0), (3, 17, 0), (0, 8, 1), (5, 8, 1), (2, 1, 1), (2, 33, 1), (5, 2, 1), (1, 33, 1)):
                files = []
                for k, value in enumerate((3, 1, 0)):
                    files.append(self.tmp / f"{k}.npy")
                    npy.write(files[-1], "int64", [batch, length], [value] * (batch * length))
                self.ends(code, "run", pte, "--inputs", ",".join(map(str, files)), "--output-dir", self.tmp / "out")

    def test_outputs_that_cannot_be_written(self):
        self.ends(4, "compile", self.MODEL, "-o", "/dev/full")
        self.ends(4, "compile", self.MODEL, "-o", self.tmp / "missing/out.pte", says="missing/out.pte")
        self.ends(4, "compile", self.MODEL, "-o", self.tmp)
        self.ends(4, "compile", self.MODEL, "-o", str(self.tmp) + "/")
        self.ends(4, "compile", self.MODEL, "-o", "")
        self.ends(4, "compile", self.MODEL, "-o", self.tmp / "o.pte", "--depfile", self.tmp / "missing/o.d")
        self.ends(4, "compile", self.MODEL, "-o", self.tmp / "o.pte", "--dump-ir", f"edge={self.tmp}/missing/o.ir")

    def test_a_failed_write_keeps_the_old_file(self):
        out = self.tmp / "out.pte"
        out.write_bytes(b"old")

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

        self.ends(4, "compile", self.MODEL, "-o", out, preexec_fn=small_files)
        self.assertEqual(out.read_bytes(), b"old")
        self.assertEqual(self.names(), ["out.pte"])
        if os.geteuid() != 0:
            out.chmod(0o444)
            self.ends(4, "compile", self.MODEL, "-o", out)
            self.assertEqual(out.read_bytes(), b"old")

    def test_a_refused_model_leaves_nothing(self):
        out = self.tmp / "out.pte"
        self.ends(1, "compile", DATA / "unbounded_dim/model.pt2", "-o", out, says=["--bound", "input", "dim"])
        out.write_bytes(b"old")
        self.ends(1, "compile", DATA / "unbounded_dim/model.pt2", "-o", out)
        self.assertEqual(out.read_bytes(), b"old")

    def test_inputs_that_cannot_be_read(self):
        out = self.tmp / "out.pte"
        self.ends(3, "compile", self.tmp / "missing.pt2", "-o", out, says="missing.pt2")
        self.ends(3, "compile", self.tmp, "-o", out)
        self.ends(3, "compile", "/dev/null", "-o", out)
        (self.tmp / "cut.pt2").write_bytes(self.MODEL.read_bytes()[:-100])
        self.ends(3, "compile", self.tmp / "cut.pt2", "-o", out)
        self.ends(3, "compile", self.program(), "-o", out)
        self.assertFalse(out.exists())

    def test_standard_input_and_output(self):
        pte = self.program().read_bytes()
        piped = self.ends(0, "compile", "-", "-o", "-", stdin=self.MODEL.read_bytes())
        self.assertEqual(piped.stdout, pte)
        self.assertEqual(self.ends(0, "compile", self.MODEL, "-o", "/dev/stdout").stdout, pte)

    def test_bounds(self):
        model, out = DATA / "unbounded_dim/model.pt2", self.tmp / "out.pte"
        symbol = json.loads(self.ends(0, "inspect", "--json", model).stdout)["sizes"][0]["name"]
        self.ends(0, "compile", model, "-o", out, "--bound", "16")
        self.ends(0, "verify", model, out)
        self.ends(0, "compile", model, "-o", out, "--bound", f"{symbol}=16")
        self.ends(0, "verify", model, out)
        for wrong in ("x", "", f"{symbol}=", f"{symbol}=x", "-1", "3000000000", "1.5"):
            self.ends(2, "compile", model, "-o", out, "--bound", wrong)
        self.ends(2, "compile", model, "-o", out, "--bound", "no_such=16", "--bound", "16", says="no_such")

    def test_methods_and_constants(self):
        out = self.tmp / "out.pte"
        self.ends(0, "compile", "--method", f"a={self.MODEL}", "--method", f"b={DATA / 'counter/model.pt2'}", "--constant",
                  "get_size=12", "--constant", 'words=["x", 1.5, true]', "-o", out)
        methods = [m["name"] for m in json.loads(self.ends(0, "inspect", "--json", out).stdout)["methods"]]
        self.assertEqual(methods, ["a", "b", "get_size", "words"])
        self.ends(0, "verify", self.MODEL, out, "--method", "a")
        self.ends(0, "verify", DATA / "counter/model.pt2", out, "--method", "b")
        self.ends(1, "verify", DATA / "counter/model.pt2", out, "--method", "a")
        self.ends(2, "verify", self.MODEL, out, says="--method")
        for wrong in (["--method", "a"], ["--method", "=x"], ["--method", f"forward={self.MODEL}"], ["--constant", "x"],
                      ["--constant", "x={}"], ["--constant", "x=["], ["--constant", "x=1", "--constant", "x=2"],
                      ["--constant", "forward=1"]):
            self.ends(2, "compile", self.MODEL, *wrong, "-o", out)
        self.ends(2, "compile", "-o", out)

    def test_other_wrong_options(self):
        for wrong in (["--align-plan", "3"], ["--align-segments", "0"], ["--align-plan", "x"], ["--dump-ir", "nowhere"],
                      ["--no-pass", "no-such"], ["--no-pass"]):
            self.ends(2, "compile", self.MODEL, "-o", self.tmp / "o.pte", *wrong)
        self.assertEqual(self.names(), [])

    def test_files_besides_the_program(self):
        out, ir, dep = self.tmp / "o.pte", self.tmp / "o.ir", self.tmp / "o.d"
        r = self.ends(0, "compile", self.MODEL, "-o", out, "--dump-ir", f"core={ir}", "--dump-ir", "edge", "--depfile", dep, "--timings",
                      says=["method @forward", "ms"])
        self.assertEqual(r.stdout, b"")
        self.assertIn("method @forward", ir.read_text())
        self.assertEqual(dep.read_text(), f"{out}: {self.MODEL}\n")

    def test_options_that_change_the_program(self):
        for options in (["--no-guards"], ["--no-alloc-graph-input", "--no-alloc-graph-output"], ["--no-pass", "fold-constants"],
                        ["--align-plan", "64"], ["--align-segments", "4096"], ["--verify-passes"]):
            pte = self.program("mlp", *options)
            self.ends(0, "verify", pte)
            self.ends(0, "verify", self.MODEL, pte)

    def test_report(self):
        report = self.tmp / "report.json"
        self.program("bert_dyn", "--report", report)
        method = json.loads(report.read_text())["methods"][0]
        self.assertTrue(any(i["line"] for i in method["instructions"]))
        self.assertTrue(all(b["offset"] + b["bytes"] <= method["memory"]["planned_bytes"] for b in method["memory"]["blocks"]))


class Interrupt(Case):
    def test_no_file_is_left(self):
        model, out = self.tmp / "model.pt2", self.tmp / "out.pte"
        subprocess.run([sys.executable, ROOT / "benchmarks/make_synthetic.py", "6000", model, "--width", "32"], check=True,
                       stdout=subprocess.DEVNULL)
        start = time.monotonic()
        self.ends(0, "compile", model, "-o", out)
        whole = time.monotonic() - start
        complete = out.read_bytes()
        out.unlink()
        interrupted = 0
        for part in range(1, 10):
            child = subprocess.Popen([EDGEC, "compile", str(model), "-o", str(out)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(whole * part / 10)
            child.send_signal(signal.SIGINT)
            code = child.wait()
            self.assertIn(code, (0, 130, -signal.SIGINT))  # the signal itself when the handler did not stand yet
            interrupted += code == 130 and not out.exists()
            if code == 0 or out.exists():  # the signal may come after the last step
                self.assertEqual(out.read_bytes(), complete)
            self.assertEqual([n for n in self.names() if n.endswith(".tmp")], [])
            out.unlink(missing_ok=True)
        self.assertGreater(interrupted, 0)


class Plugins(Case):
    def compile(self, code, *options, **kwargs):
        return self.ends(code, "compile", DATA / "mlp/model.pt2", "-o", self.tmp / "out.pte", *options, **kwargs)

    def test_what_is_no_plugin(self):
        (self.tmp / "text.so").write_text("not a library")
        self.compile(2, "--plugin", self.tmp / "text.so", says=["--plugin", "cannot be loaded"])
        self.compile(2, "--plugin", self.tmp / "missing.so", says="missing.so")
        self.compile(2, "--plugin", "missing.so", says="missing.so")
        self.compile(2, "--plugin", PLUGINS / "no_plugin.so", says="edgec_register_extensions")
        self.compile(2, "--plugin", PLUGINS / "throwing_plugin.so", says="the licence has expired")
        self.compile(2, "--plugin", PLUGINS / "taken_plugin.so", says="pass same-name")
        self.assertEqual(self.names(), ["text.so"])

    def test_a_plugin_may_be_named_twice_and_without_a_folder(self):
        plugin = PLUGINS / "planners_plugin.so"
        self.compile(0, "--plugin", plugin, "--plugin", plugin)
        self.ends(0, "passes", "--plugin", plugin.name, cwd=PLUGINS)


class MemoryPlans(Case):
    def run_matches(self, pte, name="mlp"):
        meta = json.loads((DATA / name / "meta.json").read_text())
        self.ends(0, "run", pte, "--inputs", self.inputs(name), "--output-dir", self.tmp / "out")
        for n, v in enumerate(meta["calls"][0]["expected"]):
            self.assert_close(self.tmp / f"out/0/{n}.npy", DATA / name / v["file"])

    def assert_close(self, got, wanted):
        got, wanted = npy.read(got), npy.read(wanted)
        self.assertEqual((got.dtype, got.shape), (wanted.dtype, wanted.shape))
        for a, b in zip(got.data, wanted.data):
            self.assertLess(abs(a - b), 1e-4)

    def memory_bytes(self, pte):
        return json.loads(self.ends(0, "inspect", "--json", pte).stdout)["methods"][0]["memory_bytes"]

    def test_planners_by_name(self):
        best = sum(self.memory_bytes(self.program("bert_dyn")))
        for planner in ("greedy", "naive"):
            pte = self.program("bert_dyn", "--memory-plan", planner)
            self.run_matches(pte, "bert_dyn")
            self.assertLessEqual(best, sum(self.memory_bytes(pte)))
        self.ends(2, "compile", DATA / "mlp/model.pt2", "-o", self.tmp / "x", "--memory-plan", "magic", says=["magic", "best, greedy, naive"])

    def test_a_planner_of_a_plugin_is_used_and_checked(self):
        plugin = ("--plugin", PLUGINS / "planners_plugin.so", "--memory-plan")
        pte = self.program("mlp", *plugin, "stack", "--report", self.tmp / "report.json")
        self.run_matches(pte)
        self.assertEqual(json.loads((self.tmp / "report.json").read_text())["methods"][0]["memory"]["planner"], "stack")
        pte.unlink()
        for planner, says in {"all_at_zero": ["%input", "%linear", "overlap"], "unaligned": "multiple of 16", "no_such_memory": "memory 7",
                              "gives_up": ["no idea", "forward"]}.items():
            self.ends(1, "compile", DATA / "mlp/model.pt2", "-o", pte, *plugin, planner, says=says)
            self.assertFalse(pte.exists())

    def test_layers(self):
        layers = self.tmp / "layers.json"
        layers.write_text('[{"id": 1, "name": "sram", "capacity": 4096, "alignment": 64}, {"id": 2, "name": "dram", "cost": 9}]')
        pte = self.program("bert_dyn", "--memory-layers", layers)
        sizes = self.memory_bytes(pte)
        self.assertEqual(len(sizes), 3)
        self.assertTrue(0 < sizes[1] <= 4096 and sizes[2] > 0, sizes)
        self.run_matches(pte, "bert_dyn")
        self.ends(0, "verify", pte)
        layers.write_text('[{"id": 2, "cost": 9}]')
        pte = self.program("mlp", "--memory-layers", layers)
        self.assertEqual(self.memory_bytes(pte)[:2], [0, 0])
        self.run_matches(pte)
        layers.write_text('[{"id": 1, "name": "sram", "capacity": 100}]')
        self.ends(1, "compile", DATA / "mlp/model.pt2", "-o", pte, "--memory-layers", layers, says=["no memory has room", "bytes)", "sram"])
        layers.write_text('[{"id": 1, "capacity": "many"}]')
        self.ends(3, "compile", DATA / "mlp/model.pt2", "-o", pte, "--memory-layers", layers, says="capacity")
        self.ends(3, "compile", DATA / "mlp/model.pt2", "-o", pte, "--memory-layers", self.tmp / "missing.json")

    def test_alignments(self):
        for n in (16, 64, 128, 16384):
            pte = self.program("mlp", "--align-plan", n)
            places = [v["place"]["offset"] for v in json.loads(self.ends(0, "inspect", "--json", pte).stdout)["methods"][0]["values"] if "place" in v]
            self.assertTrue(places and all(p % n == 0 for p in places), places)
            self.run_matches(pte)

    def test_state_shared_by_methods(self):
        folder = ROOT / "tests/models/share_state"
        methods = ("--method", f"prefill={folder / 'prefill.pt2'}", "--method", f"decode={folder / 'decode.pt2'}")
        pte = self.tmp / "llama.pte"
        self.ends(0, "compile", *methods, "-o", pte, "--share-state")
        calls = []
        for k, method in enumerate(("prefill", "decode", "decode", "decode")):
            calls += ["--call", f"{method}:{folder / f'call{k}_input0.npy'},{folder / f'call{k}_input1.npy'}"]
        self.ends(0, "run", pte, *calls, "--output-dir", self.tmp / "out")
        for k in range(4):
            self.assert_close(self.tmp / f"out/{k}/0.npy", folder / f"call{k}_expected.npy")
        sizes = [m["memory_bytes"] for m in json.loads(self.ends(0, "inspect", "--json", pte).stdout)["methods"]]
        self.assertEqual(sizes[0][2], sizes[1][2])
        layers = self.tmp / "layers.json"
        layers.write_text('[{"id": 1, "capacity": 16384}, {"id": 3, "cost": 2}]')
        self.ends(0, "compile", *methods, "-o", pte, "--share-state", "--memory-layers", layers)
        layers.write_text('[{"id": 2}]')
        self.ends(2, "compile", *methods, "-o", pte, "--share-state", "--memory-layers", layers, says="memory 2")

    def test_state_that_differs_is_not_shared(self):
        models = [f"--method={m}={DATA / m / 'model.pt2'}" for m in ("counter", "gpt_kv_index_put")]
        self.ends(0, "compile", *models, "-o", self.tmp / "two.pte", "--share-state")  # no name is equal


class Plan(Case):
    HARD = ROOT / "tests/data/minimalloc"

    def plan(self, code, csv, *options, **kwargs):
        (self.tmp / "i.csv").write_text(csv)
        return self.ends(code, "plan", self.tmp / "i.csv", "-o", self.tmp / "o.csv", *options, **kwargs)

    def test_solutions(self):
        csv = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n"
        self.plan(0, csv, "--capacity", 12)
        rows = [r.split(",") for r in (self.tmp / "o.csv").read_text().splitlines()]
        self.assertEqual(rows[0], ["id", "lower", "upper", "size", "offset"])
        self.assertEqual([r[0] for r in rows[1:]], ["b1", "b2", "b3", "b4", "b5"])
        self.assertTrue(all(int(r[4]) + int(r[3]) <= 12 for r in rows[1:]))
        piped = self.ends(0, "plan", "-", "-o", "-", stdin=csv.encode()).stdout.decode()
        self.assertEqual(len(piped.splitlines()), 6)
        (self.tmp / "o.csv").unlink()
        self.plan(1, csv, "--capacity", 11, says="capacity 11")
        self.assertEqual(self.names(), ["i.csv"])
        self.plan(1, csv, "--capacity", 12, "--planner", "naive", says="capacity 12")
        self.plan(2, csv, "--planner", "magic", says="magic")
        self.plan(0, csv, "--plugin", PLUGINS / "planners_plugin.so", "--planner", "stack")
        self.plan(1, csv, "--plugin", PLUGINS / "planners_plugin.so", "--planner", "all_at_zero", says=["%b1", "%b3"])

    def test_hostile_instances(self):
        for csv in ("", "id,lower,upper\n", "id,lower,upper,size\na,0,1\n", "id,lower,upper,size\na,1,1,2\n", "id,lower,upper,size\na,0,1,-2\n",
                    "id,lower,upper,size\na,0,1,99999999999999999999\n"):
            self.plan(3, csv, says="line")
        self.ends(3, "plan", self.tmp / "missing.csv", "-o", self.tmp / "o.csv")
        self.assertEqual(self.names(), ["i.csv"])

    def test_the_search_meets_a_capacity(self):
        self.ends(0, "plan", self.HARD / "F.1048576.csv", "--capacity", 1048576, "-o", self.tmp / "o.csv")
        self.ends(1, "plan", self.HARD / "F.1048576.csv", "--capacity", 1048576, "--planner", "greedy", "-o", self.tmp / "o2.csv")


class Inspect(Case):
    def test_both_kinds_by_content(self):
        pte = self.program()
        renamed = self.tmp / "program.pt2"
        renamed.write_bytes(pte.read_bytes())
        self.assertIn("method \"forward\"", self.ends(0, "inspect", renamed).stdout.decode())
        for file in (pte, DATA / "mlp/model.pt2"):
            piped = self.ends(0, "inspect", "-", stdin=file.read_bytes()).stdout
            self.assertEqual(piped, self.ends(0, "inspect", file).stdout)
            json.loads(self.ends(0, "inspect", "--json", file).stdout)
            self.assertTrue(self.ends(0, "inspect", "--ir", file).stdout)
        self.ends(2, "inspect", "--ir", "--json", pte)

    def test_every_model_is_described(self):
        for folder in sorted(p.parent for p in DATA.glob("*/model.pt2")):
            facts = json.loads(self.ends(0, "inspect", "--json", folder / "model.pt2").stdout)
            meta = json.loads((folder / "meta.json").read_text())
            self.assertEqual([i["name"] for i in facts["inputs"]], [i["name"] for i in meta["inputs"]])
            self.assertEqual(len([o for o in facts["outputs"] if "new_value_of" not in o]), len(meta["outputs"]))

    def test_what_cannot_be_read(self):
        self.ends(3, "inspect", self.tmp / "missing")
        self.ends(3, "inspect", self.tmp)
        self.ends(3, "inspect", "/dev/null")
        self.ends(3, "inspect", __file__)


class Verify(Case):
    def test_every_model_agrees_with_its_program(self):
        for folder in sorted(p.parent for p in DATA.glob("*/model.pt2")):
            pte = self.program(folder.name, *(["--bound", "32"] if folder.name == "unbounded_dim" else []))
            self.assertTrue(self.ends(0, "verify", pte).stdout.startswith(b"ok"))
            self.assertTrue(self.ends(0, "verify", folder / "model.pt2", pte).stdout.startswith(b"ok"))

    def test_programs_of_other_models(self):
        pte = self.program("mlp")
        self.ends(1, "verify", DATA / "counter/model.pt2", pte, says="input")
        self.ends(1, "verify", DATA / "mlp/model.pt2", self.program("counter"))

    def test_other_weights(self):
        """The same model with one changed float is another model."""
        self.ends(1, "verify", self.with_changed_record("mlp", "data/weights/weight_0"), self.program("mlp"), says="no weight of the model")

    def test_other_initial_state(self):
        self.ends(1, "verify", self.with_changed_record("counter", "data/weights/weight_0"), self.program("counter"),
                  says="initial content")

    def with_changed_record(self, name, record):
        changed = self.tmp / "changed.pt2"
        with zipfile.ZipFile(DATA / name / "model.pt2") as old, zipfile.ZipFile(changed, "w") as new:
            records = [i.filename for i in old.infolist()]
            self.assertTrue(any(r.endswith(record) for r in records), records)
            for r in records:
                data = old.read(r)
                new.writestr(r, bytes([data[0] ^ 1]) + data[1:] if r.endswith(record) else data)
        return changed

    def test_usage_and_unreadable_files(self):
        pte = self.program()
        self.ends(2, "verify", "-", "-")
        self.ends(2, "verify", pte, "--method", "forward")
        self.ends(2, "verify", DATA / "mlp/model.pt2", pte, "--method", "other", says="forward")
        self.ends(3, "verify", DATA / "mlp/model.pt2")
        self.ends(3, "verify", pte, pte)
        self.ends(3, "verify", self.tmp / "missing.pte")
        self.ends(3, "verify", self.tmp / "missing.pt2", pte)
        (self.tmp / "cut.pte").write_bytes(pte.read_bytes()[:-300])
        self.ends(3, "verify", self.tmp / "cut.pte")
        self.ends(0, "verify", "-", stdin=pte.read_bytes())


class Run(Case):
    def setUp(self):
        super().setUp()
        if b"without the ExecuTorch runtime" in self.edgec("run", self.program(), "--inputs", "").stderr:
            self.skipTest("built without the runtime")

    def test_results(self):
        pte, out = self.program(), self.tmp / "out"
        self.ends(0, "run", pte, "--inputs", self.inputs(), "--output-dir", out)
        calls = json.loads((out / "outputs.json").read_text())["calls"]
        self.assertTrue((out / calls[0]["outputs"][0]["file"]).exists())
        self.assertIn(b"call 0", self.ends(0, "run", "-", "--inputs", self.inputs(), stdin=pte.read_bytes()).stdout)

    def test_exit_codes(self):
        pte = self.program()
        self.ends(2, "run", pte)
        self.ends(2, "run", pte, "--inputs", "")
        self.ends(2, "run", pte, "--method", "none", "--inputs", self.inputs())
        self.ends(2, "run", pte, "--inputs", self.inputs(), "--repeat", "0")
        self.ends(1, "run", pte, "--inputs", "3")
        self.ends(3, "run", pte, "--inputs", self.tmp / "missing.npy")
        self.ends(3, "run", self.tmp / "missing.pte", "--inputs", "")
        self.ends(3, "run", DATA / "mlp/model.pt2", "--inputs", "")
        self.ends(4, "run", pte, "--inputs", self.inputs(), "--output-dir", pte)
        self.ends(4, "run", pte, "--inputs", self.inputs(), "--etdump", "/dev/full")

    def test_damaged_programs_are_refused_and_do_not_crash(self):
        raw = self.program("counter").read_bytes()
        damaged = self.tmp / "damaged.pte"
        for size in (0, 7, 8, 40, len(raw) // 2, len(raw) - 1):
            damaged.write_bytes(raw[:size])
            self.ends(3, "run", damaged, "--inputs", self.inputs("counter"))
        for at in range(0, min(len(raw), 2500), 11):
            damaged.write_bytes(raw[:at] + bytes([raw[at] ^ 0x81]) + raw[at + 1:])
            r = self.edgec("run", damaged, "--inputs", self.inputs("counter"))
            self.assertIn(r.returncode, (0, 1, 2, 3), f"byte {at}: {r.stderr}")
            self.assertNotIn(b"the runtime crashed", r.stderr, f"byte {at}")


class Backends(Case):
    MODELS = ROOT / "examples/models"

    def test_list(self):
        text = self.ends(0, "backends").stdout.decode()
        for name in ("executor", "demo", "BackendWithCompilerDemo"):
            self.assertIn(name, text)

    def test_wrong_usage(self):
        model, out = self.MODELS / "two_regions.pt2", self.tmp / "out.pte"
        for options in (["--backend", "no-such"], ["--backend", "executor,symints=maybe"], ["--backend", "executor,odd"],
                        ["--backend", "demo,max_value=5"], ["--whole-graph"], ["--pass", "no-such"], ["--pass", "decompose"]):
            self.ends(2, "compile", model, "-o", out, *options)
        self.assertEqual(self.names(), [])

    def matrices(self):
        names = []
        for i, values in enumerate(([1, 2, 3, 4], [1, 0, 0, 1], [1, 1, 1, 1])):
            names.append(self.tmp / f"{i}.npy")
            header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            names[-1].write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + array.array("f", values).tobytes())
        return ",".join(map(str, names))

    def test_demo_takes_two_regions(self):
        pte, report = self.tmp / "demo.pte", self.tmp / "report.json"
        self.ends(0, "compile", self.MODELS / "two_regions.pt2", "-o", pte, "--backend", "demo", "--report", report, "--verify-passes",
                  "--pass", "cse", says=["4 nodes in 2 delegates of BackendWithCompilerDemo", "aten.sub.Tensor"])
        method = json.loads(report.read_text())["methods"][0]
        self.assertEqual([len(d["handles"]) for d in method["delegates"]], [2, 2])
        self.assertEqual([n["node"] for n in method["undelegated"]], ["aten.sub.Tensor"])
        self.assertEqual([b["before"] for b in method["breaks"]], ["aten.sub.Tensor"])
        self.assertTrue(all(n["line"] > 0 for n in method["undelegated"] + method["breaks"]))
        out = self.ends(0, "run", pte, "--inputs", self.matrices(), "--profile", "--report", report).stdout.decode()
        self.assertIn("float32[2, 2]: 2 2 2 2", out)
        self.assertIn("aten.mm in delegate 0", out)
        self.assertIn("aten.add.Tensor in delegate 1", out)
        self.assertIn("BackendWithCompilerDemo", self.ends(0, "inspect", pte).stdout.decode())

    def test_whole_graph(self):
        pte = self.tmp / "sin.pte"
        self.ends(0, "compile", self.MODELS / "sin.pt2", "-o", pte, "--backend", "demo", "--whole-graph")
        r = self.ends(1, "compile", self.MODELS / "activations.pt2", "-o", self.tmp / "no.pte", "--backend", "demo", "--whole-graph")
        for node in ("aten.sigmoid", "aten.exp", "aten.cos"):
            self.assertIn(node, r.stderr.decode())
        self.ends(0, "compile", self.MODELS / "activations.pt2", "-o", self.tmp / "all.pte", "--backend", "executor", "--whole-graph")
        self.assertFalse((self.tmp / "no.pte").exists())

    def test_backends_in_turn(self):
        self.ends(0, "compile", self.MODELS / "two_regions.pt2", "-o", self.tmp / "both.pte", "--backend", "demo", "--backend", "executor",
                  says=["2 delegates of BackendWithCompilerDemo", "1 nodes in 1 delegate of ExecutorBackend"])
        self.ends(0, "run", self.tmp / "both.pte", "--inputs", self.matrices())

    def test_xnnpack_stores_weights_of_two_methods_once(self):
        model, both = DATA / "crepe_tiny/model.pt2", self.tmp / "both.pte"
        one = self.program("crepe_tiny", "--backend", "xnnpack")
        self.ends(0, "compile", "--method", f"a={model}", "--method", f"b={model}", "-o", both, "--backend", "xnnpack")
        named = lambda pte: json.loads(self.ends(0, "inspect", "--json", pte).stdout)["named_data"]
        self.assertEqual(named(both), named(one))
        self.assertGreater(sum(d["bytes"] for d in named(one)), 1_900_000)
        self.assertLess(both.stat().st_size, one.stat().st_size + 4096)
        x = self.inputs("crepe_tiny")
        out = self.ends(0, "run", both, "--call", f"a:{x}", "--call", f"b:{x}", "--output-dir", self.tmp / "out")
        self.assertEqual(*[(self.tmp / f"out/{k}/0.npy").read_bytes() for k in (0, 1)])

    def test_xnnpack_moves_images_at_the_ends_only(self):
        for name, most in ("crepe_tiny", 1), ("conv_bn", 2):
            operators = xnnpack_payload.operators(self.program(name, "--backend", "xnnpack").read_bytes())
            self.assertEqual(len(operators), 1)
            self.assertLessEqual(operators[0].count("Transpose"), most, operators)

    def test_xnnpack_one_operator_a_delegate(self):
        pte = self.program("mlp", "--backend", "xnnpack,per_op=on")
        operators = xnnpack_payload.operators(pte.read_bytes())
        self.assertGreater(len(operators), 1)
        self.assertTrue(all(len(o) == 1 for o in operators), operators)
        self.ends(0, "run", pte, "--inputs", self.inputs())

    def test_nested_programs_show_their_lines(self):
        pte, report = self.tmp / "n.pte", self.tmp / "n.json"
        self.ends(0, "compile", DATA / "mlp/model.pt2", "-o", pte, "--backend", "executor", "--report", report)
        out = self.ends(0, "run", pte, "--inputs", self.inputs(), "--profile", "--report", report).stdout.decode()
        self.assertIn("aten.linear in delegate 0", out)

    def test_damaged_nested_programs_do_not_crash(self):
        pte, damaged = self.tmp / "n.pte", self.tmp / "damaged.pte"
        self.ends(0, "compile", DATA / "counter/model.pt2", "-o", pte, "--backend", "executor")
        raw = pte.read_bytes()
        for at in range(0, len(raw), 29):
            damaged.write_bytes(raw[:at] + bytes([raw[at] ^ 0x81]) + raw[at + 1:])
            r = self.edgec("run", damaged, "--inputs", self.inputs("counter"))
            self.assertIn(r.returncode, (0, 1, 2, 3), f"byte {at}: {r.stderr}")
            self.assertNotIn(b"the runtime crashed", r.stderr, f"byte {at}")


if __name__ == "__main__":
    if "--edgec" in sys.argv:
        at = sys.argv.index("--edgec")
        EDGEC = os.path.abspath(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    if "--plugins" in sys.argv:
        at = sys.argv.index("--plugins")
        PLUGINS = pathlib.Path(sys.argv[at + 1]).resolve()
        del sys.argv[at:at + 2]
    unittest.main()

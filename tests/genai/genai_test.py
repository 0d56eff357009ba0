#!/usr/bin/env python3
"""`edgec genai` from outside: compile specs, hybrid decoders that generate torch's tokens, text.

  genai_test.py [--edgec FILE] [unittest options, e.g. Decoders.test_io]

References: data/ (made by make_models.py and make_quantized.py). With the shared models ($EDGEC_SHARED/models) their llama pairs run too."""
import json, os, pathlib, re, shlex, subprocess, sys, tempfile, unittest, zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
import npy
DATA = HERE / "data"
EDGEC = str(HERE.parents[1] / "build/release/bin/edgec")
SHARED = pathlib.Path(os.environ.get("EDGEC_SHARED", HERE.parents[2] / "shared")) / "models"
SPECS = DATA / "compile_specs"


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tmp = pathlib.Path(folder.name)

    def ends(self, code, *args, says=None):
        r = subprocess.run([EDGEC, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
        err = r.stderr.decode(errors="replace")
        self.assertEqual(r.returncode, code, f"{args}: {err}")
        if code:
            self.assertTrue(err.strip(), f"{args}: no message")
        if says:
            self.assertIn(says, err)
        return r.stdout.decode(errors="replace")

    def backends(self):
        """What can make programs that run here: portable always, XNNPACK when this edgec has it."""
        return ["portable"] + [b for b in ["xnnpack"] if re.search(rf"\b{b}\b", self.ends(0, "backends"))]


class Specs(Case):
    def test_options_make_the_same_bytes(self):
        made = 0
        for spec in sorted(SPECS.glob("*.bin")):
            with self.subTest(spec.name):
                if spec.name.startswith("lpai"):
                    self.ends(1, "genai", "show-spec", spec, "--as-options", says="lpai")
                    continue
                options = shlex.split(self.ends(0, "genai", "show-spec", spec, "--as-options"))
                out = self.tmp / spec.name
                self.ends(0, "genai", "compile-spec", *options, "-o", out)
                self.assertEqual(out.read_bytes(), spec.read_bytes())
                made += 1
        self.assertEqual(made, 24)

    def test_show(self):
        for entry in json.loads((SPECS / "index.json").read_text())["entries"]:
            shown = json.loads(self.ends(0, "genai", "show-spec", SPECS / entry["file"]))
            self.assertEqual(shown, entry["decoded"], entry["file"])
        self.assertEqual(json.loads(self.ends(0, "genai", "show-spec", SPECS / "lpai_sm8850_schema_only.bin"))["backend_options"]["backend_type"], 4)

    def test_every_chipset(self):
        for soc, expected in json.loads((SPECS / "soc_defaults.json").read_text())["socs"].items():
            self.ends(0, "genai", "compile-spec", "--soc", soc, "--backend", "htp", "--no_shared_buffer", "-o", self.tmp / "s")
            self.assertEqual((self.tmp / "s").read_bytes().hex(), expected["spec_hex"], soc)

    def test_refusals(self):
        spec = ["genai", "compile-spec", "-o", self.tmp / "s"]
        self.ends(2, *spec, "--soc", "sm8650", says="SM8650")
        self.ends(2, *spec, "--soc", "999", says="SM8650")
        self.ends(2, *spec, "--soc", "UNKNOWN_SM")
        self.ends(2, *spec, "--soc", "SM8750", "--use_multi_contexts", "--online_prepare", says="use_multi_contexts")
        self.ends(2, *spec, "--soc", "SM8850", "--backend", "lpai", "--online_prepare", says="online_prepare")
        self.ends(2, *spec, "--soc", "SM8750", "--backend", "lpai", says="LPAI")
        self.ends(2, *spec, "--soc", "SM8750", "--backend", "HTP", says="htp")
        self.ends(2, *spec, "--soc", "SM8750", "--max_sf_buf_size", 2 ** 31, says="int32")
        self.ends(2, *spec, "--soc", "SM8750", "--backend", "gpu", "--use_fp16", says="use_fp16")
        self.ends(2, *spec)
        self.assertFalse((self.tmp / "s").exists())
        (self.tmp / "damaged").write_bytes(b"\xff" * 64)
        self.ends(3, "genai", "show-spec", self.tmp / "damaged")
        self.ends(3, "genai", "show-spec", self.tmp / "missing")
        self.ends(4, "genai", "compile-spec", "--soc", "SM8650", "-o", self.tmp / "no" / "folder")


class Compile(Case):
    def setUp(self):
        super().setUp()
        with zipfile.ZipFile(DATA / "llama_pairs.zip") as z:
            z.extractall(self.tmp)
        self.common = ["genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--artifact", self.tmp / "out"]
        self.pair = ["--kv_forward", self.tmp / "io_decode.pt2", "--prefill_forward", self.tmp / "io_prefill.pt2"]

    def test_wrong_usage(self):
        self.ends(2, *self.common, says="--kv_forward")
        self.ends(2, *self.common, *self.pair, "--model_mode", "kv", says="--prefill_forward")
        self.ends(2, *self.common, *self.pair[:2], says="--prefill_forward")
        self.ends(2, *self.common, *self.pair[2:], says="--kv_forward")
        self.ends(2, *self.common, *self.pair, "--model_mode", "fast")
        self.ends(2, *self.common, *self.pair, "--backend", "dsp")
        self.ends(2, *[a for a in self.common if a not in ("--soc_model", "SM8650")], *self.pair, says="--soc_model")
        self.ends(3, *self.common, "--model_mode", "kv", "--kv_forward", self.tmp / "none.pt2", "--backend", "portable")
        self.assertFalse((self.tmp / "out/text_decoder.pte").exists())

    def test_qnn_is_reported_plainly_where_it_is_missing(self):
        if not re.search(r"\bqnn\b", self.ends(0, "backends")):
            self.ends(1, *self.common, *self.pair, says="no QNN backend")

    def test_one_program_with_constants_of_decode_first(self):
        out = self.ends(0, *self.common, *self.pair, "--backend", "portable", "--constant", "get_eos_id=2", "--max_seq_len", 64)
        self.assertEqual(out.split(), ["text_decoder", str(self.tmp / "out/text_decoder.pte")])
        plans = json.loads(self.ends(0, "inspect", "--json", self.tmp / "out/text_decoder.pte"))["methods"]
        self.assertEqual([m["name"] for m in plans][:2], ["kv_forward", "prefill_forward"])
        self.assertEqual({m["name"] for m in plans[2:]}, {"get_eos_id", "get_max_seq_len"})

    def test_other_artifacts(self):
        out = self.ends(0, *self.common, "--backend", "portable", "--model_mode", "kv", "--kv_forward", self.tmp / "io_decode.pt2",
                        "--tok_embedding_kv_forward", self.tmp / "io_decode.pt2", "--audio_encoder", self.tmp / "io_prefill.pt2",
                        "--attention_sink_evictor", self.tmp / "io_prefill.pt2")
        self.assertEqual([line.split()[0] for line in out.splitlines()],
                         ["text_decoder", "tok_embedding", "audio_encoder", "attention_sink_evictor"])
        for line in out.splitlines():
            self.ends(0, "verify", line.split()[1])


class Decoders(Case):
    def hybrid(self, decode, prefill, backend, *options):
        out = self.tmp / backend
        self.ends(0, "genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--model_mode", "hybrid", "--backend", backend,
                  "--kv_forward", decode, "--prefill_forward", prefill, "--artifact", out, *options)
        return out / "text_decoder.pte"

    def check_size(self, program, prefill, backend, *options):
        """Every weight once: 1 percent and 200 bytes a node above the larger method alone."""
        alone = self.tmp / "alone/text_decoder.pte"
        self.ends(0, "genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--model_mode", "kv", "--backend", backend,
                  "--kv_forward", prefill, "--artifact", alone.parent, *options)
        nodes = json.loads(self.ends(0, "inspect", "--json", prefill))["nodes"]
        self.assertLessEqual(program.stat().st_size, alone.stat().st_size * 1.01 + 200 * nodes)

    def check_tokens(self, program, reference):
        args = [a for c in reference["calls"] for a in ("--prompt_ids", ",".join(map(str, c["prompt"])))]
        out = self.ends(0, "genai", "run", program, *args, "--temperature", 0, "--max_new_tokens", reference["new_tokens"],
                        "--max_context_len", reference["context"], "--ids")
        tokens = [[int(t) for t in line.split()] for line in out.splitlines()]
        self.assertEqual(tokens, [c["tokens"] for c in reference["calls"]])

    def check(self, decode, prefill, reference):
        for backend in self.backends():
            with self.subTest(backend):
                program = self.hybrid(decode, prefill, backend)
                self.check_size(program, prefill, backend)
                self.check_tokens(program, reference)

    def own(self, kind):
        with zipfile.ZipFile(DATA / "llama_pairs.zip") as z:
            z.extractall(self.tmp)
        self.check(self.tmp / f"{kind}_decode.pt2", self.tmp / f"{kind}_prefill.pt2", json.loads((DATA / "llama_tokens.json").read_text()))

    def test_io(self):
        self.own("io")

    def test_state(self):
        self.own("state")

    def delegates(self, program):
        plans = json.loads(self.ends(0, "inspect", "--json", program))["methods"]
        return [len(m["delegates"]) for m in plans]

    def test_several_contexts(self):
        """Cut between its two layers, a decoder has more delegates and the same tokens; the executor, which takes all, has one a context."""
        reference = json.loads((DATA / "llama_tokens.json").read_text())
        with zipfile.ZipFile(DATA / "llama_pairs.zip") as z:
            z.extractall(self.tmp)
        for kind in ("io", "state"):
            pair = [self.tmp / f"{kind}_{name}.pt2" for name in ("decode", "prefill")]
            for backend in self.backends() + ["executor"]:
                with self.subTest(kind=kind, backend=backend):
                    whole = self.delegates(self.hybrid(*pair, backend))
                    program = self.hybrid(*pair, backend, "--num_sharding", 2)
                    self.check_tokens(program, reference)
                    if backend == "executor":
                        self.assertEqual((whole, self.delegates(program)), ([1, 1], [2, 2]))
                        continue
                    self.check_size(program, pair[1], backend, "--num_sharding", 2)
                    if backend != "portable":
                        self.assertEqual(self.delegates(program), [n + 1 for n in whole])
        self.ends(1, "genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--backend", "executor", "--num_sharding", 3,
                  "--kv_forward", pair[0], "--prefill_forward", pair[1], "--artifact", self.tmp, says="2 layers")

    def test_shared_models(self):
        for kind, reference in json.loads((DATA / "corpus_tokens.json").read_text()).items():
            decode, prefill = (SHARED / f"llama_{kind}_{name}" / "model.pt2" for name in ("decode", "prefill"))
            if decode.exists():
                with self.subTest(kind):
                    self.check(decode, prefill, reference)


class Quantized(Case):
    """A decoder quantized by torch's PT2E (make_quantized.py): caches of 8 bits and logits and mask of 16 cross the border as integers."""
    OUT_OF_SIGHT, VISIBLE, CACHE_ZERO = 0, 65535, 128  # the mask is -64 to 0, a cache of zeros is 128

    def setUp(self):
        super().setUp()
        with zipfile.ZipFile(DATA / "llama_qdq.zip") as z:
            z.extractall(self.tmp)
        self.reference = json.loads((self.tmp / "reference.json").read_text())
        self.context = self.reference["context"]

    def compile(self, backend, *options):
        out = self.tmp / backend
        self.ends(0, "genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--backend", backend, "--artifact", out,
                  "--kv_forward", self.tmp / "decode.pt2", "--prefill_forward", self.tmp / "prefill.pt2", "--kv_io_bit_width", 8,
                  "--logits_io_bit_width", 16, *options)
        return out / "text_decoder.pte"

    def constant(self, program, method):
        self.ends(0, "run", program, "--method", method, "--inputs", "", "--output-dir", self.tmp / "constant")
        outputs = json.loads((self.tmp / "constant/outputs.json").read_text())["calls"][0]["outputs"]
        return [o["value"] for o in outputs]

    def call(self, program, tokens, position, caches):
        """Logits, and new columns of each cache: rows of a K are head dims, those of a V are positions."""
        n, past = len(tokens), self.context - len(tokens)
        heads, dim = self.reference["heads"], self.reference["head_dim"]
        mask = [self.VISIBLE if past - min(position, past) <= c <= past + row else self.OUT_OF_SIGHT
                for row in range(n) for c in range(self.context)]
        files = [(("int32", [1, n], tokens)), ("uint16", [1, 1, n, self.context], mask), ("int32", [1, n], range(position, position + n))]
        for i, cache in enumerate(caches):  # cache[position] is [head][dim]
            last = cache[-past:]
            k = [last[p][h][d] for h in range(heads) for d in range(dim) for p in range(past)]
            v = [last[p][h][d] for h in range(heads) for p in range(past) for d in range(dim)]
            files.append(("uint8", [1, heads, dim, past], k) if i % 2 == 0 else ("uint8", [1, heads, past, dim], v))
        for i, (dtype, shape, data) in enumerate(files):
            npy.write(self.tmp / f"{i}.npy", dtype, shape, list(data))
        self.ends(0, "run", program, "--method", "kv_forward" if n == 1 else "prefill_forward", "--output-dir", self.tmp / "called",
                  "--inputs", ",".join(str(self.tmp / f"{i}.npy") for i in range(len(files))))
        logits, *new = [npy.read(self.tmp / f"called/0/{i}.npy") for i in range(1 + len(caches))]
        self.assertEqual([logits.dtype] + [a.dtype for a in new], ["uint16"] + ["uint8"] * len(caches))
        for i, (cache, a) in enumerate(zip(caches, new)):
            at = (lambda h, d, p: (h * dim + d) * n + p) if i % 2 == 0 else (lambda h, d, p: (h * n + p) * dim + d)
            cache += [[[a.data[at(h, d, p)] for d in range(dim)] for h in range(heads)] for p in range(n)]
        return logits.data, new

    def generate(self, program):
        """Greedy tokens, the logits and new first K of the first calls."""
        r = self.reference
        empty = [[self.CACHE_ZERO] * r["head_dim"] for _ in range(r["heads"])]
        caches = [[empty] * self.context for _ in range(2 * r["layers"])]
        tokens, rest, position, calls = list(r["prompt"]), list(r["prompt"]), 0, []
        while len(tokens) < len(r["tokens"]):
            n = r["prefill"] if len(rest) >= r["prefill"] else 1
            logits, new = self.call(program, rest[:n], position, caches)
            calls.append((n, logits, new[0].data))
            position, rest = position + n, rest[n:]
            if not rest:
                last = list(logits[-r["vocab"]:])
                tokens.append(last.index(max(last)))
                rest = [tokens[-1]]
        return tokens, calls

    def test_integers_at_the_border(self):
        for backend in self.backends() + ["executor"]:
            with self.subTest(backend):
                program = self.compile(backend, *(["--num_sharding", 2] if backend == "executor" else []))
                scale, zero = (self.constant(program, f"get_logits_{what}")[0] for what in ("scale", "zero_point"))
                self.assertEqual(self.constant(program, "get_kv_output_3_quant_attr"), [1 / 32, 128, 0, 255, "uint8"])
                tokens, calls = self.generate(program)
                self.assertEqual(tokens, self.reference["tokens"])
                for (n, logits, k), wanted in zip(calls, self.reference["calls"]):
                    for got, value in zip(k, wanted["k"], strict=True):  # sums in another order may round to the next step
                        self.assertLessEqual(abs((got - 128) / 32 - value), 1.001 / 32)
                    if n == 1:
                        for got, value in zip(logits, wanted["logits"], strict=True):
                            self.assertLessEqual(abs((got - zero) * scale - value), 2.001 * scale)

    def test_integers_cross_between_contexts(self):
        """The residual stream is quantized where the layers meet."""
        program = self.compile("executor", "--num_sharding", 2)
        for n, method in zip((1, self.reference["prefill"]), json.loads(self.ends(0, "inspect", "--json", program))["methods"]):
            calls = [i["args"] for i in method["instructions"] if i["kind"] == "delegate"]
            self.assertEqual(len(calls), 2)
            crossing = [method["values"][v] for v in set(calls[0]) & set(calls[1]) - set(method["inputs"])]
            width = self.reference["heads"] * self.reference["head_dim"]
            self.assertIn(("uint16", [1, n, width]), [(v["dtype"], v["sizes"]) for v in crossing])
            self.assertNotIn([1, n, width], [v["sizes"] for v in crossing if v["dtype"] == "float32"])

    def test_other_widths_are_refused(self):
        common = ["genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--backend", "portable", "--artifact", self.tmp,
                  "--model_mode", "kv", "--kv_forward", self.tmp / "decode.pt2", "--logits_io_bit_width", 16, "--kv_io_bit_width"]
        self.ends(2, *common, 16, says="quantized to")
        self.ends(1, *common, 4, says="4 bits")


class Text(Case):
    def setUp(self):
        super().setUp()
        with zipfile.ZipFile(DATA / "llama_pairs.zip") as z:
            z.extractall(self.tmp)
        self.ends(0, "genai", "compile", "--soc_model", "SM8650", "--decoder_model", "mine", "--backend", "portable", "--artifact", self.tmp,
                  "--kv_forward", self.tmp / "io_decode.pt2", "--prefill_forward", self.tmp / "io_prefill.pt2", "--max_seq_len", 96,
                  "--max_context_len", 96)
        self.program = self.tmp / "text_decoder.pte"
        # The model's vocabulary has 64 tokens: 26 letters, three control tokens, and what the tokenizer learns from these words.
        words = re.findall(r"[a-z]+", (HERE.parents[1] / "docs/architecture.md").read_text().lower())
        corpus = self.tmp / "corpus.txt"
        corpus.write_text("\n".join(" ".join(words[i:i + 12]) for i in range(0, len(words), 12)) + "\n")
        r = subprocess.run(["spm_train", f"--input={corpus}", f"--model_prefix={self.tmp / 'tok'}", "--vocab_size=64", "--model_type=bpe"],
                           capture_output=True, text=True)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.tokenizer = self.tmp / "tok.model"

    def run_text(self, *args):
        return self.ends(0, "genai", "run", self.program, "--tokenizer", self.tokenizer, "--max_new_tokens", 24, *args)

    def test_text_is_that_of_the_tokens(self):
        prompt = ["--prompt", "the program has a stage", "--temperature", 0]
        ids = self.run_text(*prompt, "--ids").split()
        self.assertEqual(len(ids), 24)
        decoded = subprocess.run(["spm_decode", f"--model={self.tokenizer}", "--input_format=id"], input=" ".join(ids), text=True,
                                 check=True, capture_output=True).stdout
        text = self.run_text(*prompt)
        self.assertEqual(text.strip(), decoded.strip())
        self.assertTrue(text.strip())

    def test_sampling(self):
        prompt = ["--prompt", "memory", "--ids"]
        same = [self.run_text(*prompt, "--temperature", 1, "--seed", 3) for _ in range(2)]
        self.assertEqual(*same)
        self.assertNotEqual(same[0], self.run_text(*prompt, "--temperature", 1, "--seed", 4))
        greedy = self.run_text(*prompt, "--temperature", 0)
        self.assertEqual(greedy, self.run_text(*prompt, "--temperature", 1, "--top_p", 0))

    def test_several_prompts_start_anew(self):
        args = ["--temperature", 0, "--ids"]
        one = [self.run_text("--prompt", p, *args) for p in ("a weight", "the file")]
        self.assertEqual(self.run_text("--prompt", "a weight", "--prompt", "the file", *args), "".join(one))

    def test_end_token_and_context(self):
        ids = self.run_text("--prompt", "for", "--temperature", 0, "--ids").split()
        cut = self.run_text("--prompt", "for", "--temperature", 0, "--ids", "--eos_id", ids[5]).split()
        self.assertEqual(cut, ids[:ids.index(ids[5])])
        full = self.ends(0, "genai", "run", self.program, "--prompt_ids", "1,2,3", "--max_new_tokens", 500, "--eos_id", -1, "--ids")
        self.assertEqual(len(full.split()), 96 - 3 + 1)

    def test_wrong_usage(self):
        self.ends(2, "genai", "run", self.program)
        self.ends(2, "genai", "run", self.program, "--prompt", "x", says="--tokenizer")
        self.ends(2, "genai", "run", self.program, "--prompt_ids", "1,x")
        self.ends(2, "genai", "run", self.program, "--prompt_ids", "64", says="vocabulary")
        self.ends(2, "genai", "run", self.program, "--prompt_ids", ",".join(["1"] * 97), says="context")
        self.ends(3, "genai", "run", self.program, "--prompt", "x", "--tokenizer", self.program, says="SentencePiece")
        self.ends(3, "genai", "run", self.tmp / "none.pte", "--prompt_ids", "1")
        self.ends(0, "compile", HERE.parent / "models/data/mlp/model.pt2", "-o", self.tmp / "mlp.pte")
        self.ends(1, "genai", "run", self.tmp / "mlp.pte", "--prompt_ids", "1", says="no decoder")


if __name__ == "__main__":
    if "--edgec" in sys.argv:
        at = sys.argv.index("--edgec")
        EDGEC = str(pathlib.Path(sys.argv[at + 1]).resolve())
        del sys.argv[at:at + 2]
    unittest.main()

#!/usr/bin/env python3
"""A quantized decoder of the official form, as torch's PT2E makes one, and what torch computes with it. Needs torch and torchao.

  make_quantized.py OUT    data/llama_qdq.zip: decode.pt2 (1 token a call), prefill.pt2 (4 tokens a call), reference.json

A graph takes tokens [1, n], mask [1, 1, n, context], positions [1, n] and, a layer, K [1, heads, head_dim, context - n] and
V [1, heads, context - n, head_dim]; it gives logits [1, n, vocab] and the K and V of its own tokens. Activations, logits and the mask have
16 bits, caches and weights 8. The caches are quantized with the same parameters in both graphs, so that what one gives the other takes."""
import json, pathlib, sys, zipfile

import torch
from torch import nn
from torchao.quantization.pt2e import MinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import FixedQParamsQuantizationSpec, QuantizationAnnotation, QuantizationSpec, Quantizer

VOCAB, WIDTH, HEADS, HEAD_DIM, LAYERS, CONTEXT, PREFILL = 48, 32, 2, 16, 2, 24, 4
STEPS = 12
OUT_OF_SIGHT = -64.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda n, m: nn.Linear(n, m, bias=False)
        self.q, self.k, self.v, self.o = (linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = linear(WIDTH, 2 * WIDTH), linear(2 * WIDTH, WIDTH)
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x, mask, cos, sin, k_cache, v_cache):
        n = x.shape[1]
        heads = lambda t: t.view(1, n, HEADS, HEAD_DIM).transpose(1, 2)
        half = HEAD_DIM // 2
        rope = lambda t: torch.cat((t[..., :half] * cos - t[..., half:] * sin, t[..., half:] * cos + t[..., :half] * sin), -1)
        h = self.n1(x)
        q, k, v = rope(heads(self.q(h))), rope(heads(self.k(h))).transpose(2, 3), heads(self.v(h))
        scores = torch.matmul(q, torch.cat((k_cache, k), 3)) * HEAD_DIM ** -0.5 + mask
        y = torch.matmul(torch.softmax(scores, -1), torch.cat((v_cache, v), 2))
        x = x + self.o(y.transpose(1, 2).reshape(1, n, WIDTH))
        return x + self.down(torch.relu(self.up(self.n2(x)))), k, v


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.head, self.norm = nn.Embedding(VOCAB, WIDTH), nn.Linear(WIDTH, VOCAB, bias=False), nn.LayerNorm(WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        angle = torch.outer(torch.arange(CONTEXT).float(), 1.0 / 10000 ** (torch.arange(0, HEAD_DIM, 2).float() / HEAD_DIM))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, tokens, mask, pos, *caches):
        x, out = self.tok(tokens), []
        cos, sin = self.cos[pos[0]], self.sin[pos[0]]
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, mask, cos, sin, caches[2 * i], caches[2 * i + 1])
            out += [k, v]
        return (self.head(self.norm(x)), *out)


KV = FixedQParamsQuantizationSpec(torch.uint8, 1 / 32, 128, 0, 255, torch.per_tensor_affine)
MASK = FixedQParamsQuantizationSpec(torch.uint16, -OUT_OF_SIGHT / 65535, 65535, 0, 65535, torch.per_tensor_affine)
ACTIVATION = QuantizationSpec(torch.uint16, MinMaxObserver, 0, 65535, torch.per_tensor_affine)
WEIGHT = QuantizationSpec(torch.int8, MinMaxObserver, -127, 127, torch.per_tensor_symmetric)


class DecoderQuantizer(Quantizer):
    """Linear and matrix products and sums are quantized, and what crosses the border."""

    def annotate(self, model):
        graph = model.graph
        tensors = [n for n in graph.nodes if n.op == "placeholder" and n.meta["val"].dtype == torch.float32]
        outputs = [n for n in next(n for n in graph.nodes if n.op == "output").args[0]]
        spec = {outputs[0]: ACTIVATION, **{n: KV for n in outputs[1:]}}
        spec.update({n: MASK if n.meta["val"].shape[1] == 1 and n.meta["val"].shape[3] == CONTEXT else KV for n in tensors})
        for n in graph.nodes:
            if n.op != "call_function" or n.target not in (torch.ops.aten.linear.default, torch.ops.aten.matmul.default):
                if n in spec or n.target == torch.ops.aten.add.Tensor:
                    n.meta["quantization_annotation"] = QuantizationAnnotation({}, spec.get(n, ACTIVATION), _annotated=True)
                continue
            inputs = {n.args[0]: ACTIVATION}
            inputs[n.args[1]] = WEIGHT if n.target == torch.ops.aten.linear.default else KV
            n.meta["quantization_annotation"] = QuantizationAnnotation(inputs, spec.get(n, ACTIVATION), _annotated=True)
        return model

    def validate(self, model):
        pass


def arguments(tokens, position, caches):
    """`caches` hold the values of the positions before; the oldest place is unused until there are that many."""
    n = len(tokens)
    past = CONTEXT - n
    mask = torch.full((1, 1, n, CONTEXT), OUT_OF_SIGHT)
    for row in range(n):
        mask[0, 0, row, past - min(position, past):past + row + 1] = 0
    return (torch.tensor([tokens], dtype=torch.int32), mask, torch.arange(position, position + n, dtype=torch.int32)[None],
            *(c[..., -past:] if i % 2 == 0 else c[..., -past:, :] for i, c in enumerate(caches)))


def empty():
    shape = lambda i: (1, HEADS, HEAD_DIM, CONTEXT) if i % 2 == 0 else (1, HEADS, CONTEXT, HEAD_DIM)
    return [torch.zeros(shape(i)) for i in range(2 * LAYERS)]


def extend(caches, new):
    return [torch.cat((c, n), 3 if i % 2 == 0 else 2)[(..., slice(-CONTEXT, None)) if i % 2 == 0 else (..., slice(-CONTEXT, None), slice(None))]
            for i, (c, n) in enumerate(zip(caches, new))]


def generate(graphs, prompt, steps):
    """Tokens, and for each call the arguments and results."""
    caches, position, tokens, calls = empty(), 0, list(prompt), []
    rest = list(prompt)
    while len(tokens) < len(prompt) + steps:
        n = PREFILL if len(rest) >= PREFILL else 1
        args = arguments(rest[:n], position, caches)
        with torch.no_grad():
            logits, *new = graphs[n](*args)
        calls.append((n, args, (logits, *new)))
        caches, position, rest = extend(caches, new), position + n, rest[n:]
        if not rest:
            tokens.append(int(logits[0, -1].argmax()))
            rest = [tokens[-1]]
    return tokens, calls


def quantized(decoder, n, samples):
    args = arguments(list(range(1, n + 1)), 0, empty())
    model = prepare_pt2e(torch.export.export(decoder, args, strict=True).module(), DecoderQuantizer())
    with torch.no_grad():
        for sample in samples:
            model(*sample)
    return convert_pt2e(model)


def main(out):
    torch.manual_seed(3)
    decoder = Decoder().eval()
    prompt = [5, 11, 2, 40, 7, 23]
    _, calls = generate({1: decoder, PREFILL: decoder}, prompt, STEPS)
    graphs = {n: quantized(decoder, n, [args for m, args, _ in calls if m == n] * 2) for n in (1, PREFILL)}
    tokens, calls = generate(graphs, prompt, STEPS)
    scratch = out / "scratch"
    scratch.mkdir(exist_ok=True)
    for n, file in ((1, "decode.pt2"), (PREFILL, "prefill.pt2")):
        torch.export.save(torch.export.export(graphs[n], next(a for m, a, _ in calls if m == n), strict=True), scratch / file)
    (scratch / "reference.json").write_text(json.dumps({
        "prompt": prompt, "tokens": tokens, "context": CONTEXT, "prefill": PREFILL, "layers": LAYERS, "heads": HEADS, "head_dim": HEAD_DIM,
        "vocab": VOCAB, "calls": [{"n": n, "logits": r[0].flatten().tolist(), "k": r[1].flatten().tolist()} for n, _, r in calls[:4]]}) + "\n")
    with zipfile.ZipFile(out / "llama_qdq.zip", "w") as z:
        for file in sorted(scratch.iterdir()):
            z.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
            file.unlink()
    scratch.rmdir()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))

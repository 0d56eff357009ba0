#!/usr/bin/env python3
"""Llama-shaped decoders as pairs of graphs, and the tokens that torch generates with them. Needs torch.

  make_models.py tiny OUT          the repository's own: data/llama_pairs.zip and data/llama_tokens.json (OUT is tests/genai/data)
  make_models.py large OUT [--layers N]  a model of more than 100 million parameters, into a scratch folder
  make_models.py corpus MODELS OUT data/corpus_tokens.json: tokens of the pairs llama_io_* and llama_state_* of a folder of models

A pair is prefill (8 tokens a call) and decode (1 token a call); `io` passes the caches in and out, `state` keeps them in buffers."""
import argparse, json, pathlib, sys, zipfile

import torch
from torch import nn
import torch.nn.functional as F

PREFILL = 8


class Rms(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d) + torch.randn(d) * 0.1)

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Block(nn.Module):
    def __init__(self, d, heads, kv_heads, hidden):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, d // heads
        linear = lambda n, m: nn.Linear(n, m, bias=False)
        self.n1, self.n2 = Rms(d), Rms(d)
        self.q, self.o = linear(d, d), linear(d, d)
        self.k, self.v = linear(d, kv_heads * self.head_dim), linear(d, kv_heads * self.head_dim)
        self.gate, self.up, self.down = linear(d, hidden), linear(d, hidden), linear(hidden, d)

    def forward(self, x, pos, mask, cos, sin, k_cache, v_cache):
        b, s, _ = x.shape
        rope = lambda t: torch.cat((t[..., ::2] * cos - t[..., 1::2] * sin, t[..., ::2] * sin + t[..., 1::2] * cos), -1)
        h = self.n1(x)
        q = rope(self.q(h).view(b, s, self.heads, -1).transpose(1, 2))
        k = rope(self.k(h).view(b, s, self.kv_heads, -1).transpose(1, 2))
        v = self.v(h).view(b, s, self.kv_heads, -1).transpose(1, 2)
        k, v = k_cache.index_copy(2, pos, k), v_cache.index_copy(2, pos, v)
        repeat = self.heads // self.kv_heads
        y = F.scaled_dot_product_attention(q, k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1), attn_mask=mask)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, -1))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h)), k, v


class Decoder(nn.Module):
    """(tokens [1, n], positions [n], k and v of every layer) -> (logits of the last token, k and v of every layer)"""

    def __init__(self, vocab, d, heads, kv_heads, hidden, layers, context):
        super().__init__()
        self.context, self.cache_shape = context, (1, kv_heads, context, d // heads)
        self.tok = nn.Embedding(vocab, d)
        self.layers = nn.ModuleList(Block(d, heads, kv_heads, hidden) for _ in range(layers))
        self.norm, self.head = Rms(d), nn.Linear(d, vocab, bias=False)
        frequency = 1.0 / (10000 ** (torch.arange(0, d // heads, 2).float() / (d // heads)))
        angle = torch.outer(torch.arange(context).float(), frequency)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, tokens, pos, *caches):
        x = self.tok(tokens)
        mask = torch.arange(self.context)[None, :] <= pos[:, None]
        out = []
        for i, layer in enumerate(self.layers):
            x, k, v = layer(x, pos, mask, self.cos[pos], self.sin[pos], caches[2 * i], caches[2 * i + 1])
            out += [k, v]
        return (self.head(self.norm(x[:, -1])), *out)

    def empty_caches(self):
        return [torch.zeros(self.cache_shape) for _ in range(2 * len(self.layers))]


class WithState(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder
        for i, cache in enumerate(decoder.empty_caches()):
            self.register_buffer(f"cache_{i}", cache)

    def forward(self, tokens, pos):
        caches = [getattr(self, f"cache_{i}") for i in range(2 * len(self.decoder.layers))]
        logits, *new = self.decoder(tokens, pos, *caches)
        for cache, value in zip(caches, new):
            cache.copy_(value)
        return logits


def export(model, tokens, caches):
    args = (torch.zeros(1, tokens, dtype=torch.int64), torch.arange(tokens), *caches)
    return torch.export.export(model, args)


def save_pairs(decoder, folder, kinds=("io", "state")):
    for kind in kinds:
        for name, tokens in (("prefill", PREFILL), ("decode", 1)):
            with torch.no_grad():
                model = decoder if kind == "io" else WithState(decoder)
                torch.export.save(export(model, tokens, decoder.empty_caches() if kind == "io" else ()), folder / f"{kind}_{name}.pt2")


def greedy(call, prompt, new_tokens, context):
    """`call(tokens, positions)` gives logits and moves the state on. Ends early when the context is full."""
    position, out = 0, []
    rest = list(prompt)
    while rest:
        n = PREFILL if len(rest) >= PREFILL else 1
        logits = call(torch.tensor([rest[:n]]), torch.arange(position, position + n))
        rest, position = rest[n:], position + n
    while len(out) < new_tokens:
        out.append(int(logits[0, -1].argmax()) if logits.dim() == 3 else int(logits[0].argmax()))
        if position >= context or len(out) == new_tokens:
            break
        logits = call(torch.tensor([[out[-1]]]), torch.tensor([position]))
        position += 1
    return out


def with_caches(run, caches):
    """A call for `greedy` from a function that takes and gives caches."""
    state = list(caches)

    def call(tokens, pos):
        with torch.no_grad():
            logits, *state[:] = run(tokens, pos, *state)
        return logits
    return call


def prompts(vocab, count=5, lengths=(8, 3, 16, 21, 1)):
    g = torch.Generator().manual_seed(7)
    return [torch.randint(0, vocab, (lengths[i],), generator=g).tolist() for i in range(count)]


def tokens_of(decoder, vocab, new_tokens=64):
    calls = [{"prompt": p, "tokens": greedy(with_caches(decoder, decoder.empty_caches()), p, new_tokens, decoder.context)}
             for p in prompts(vocab)]
    return {"context": decoder.context, "new_tokens": new_tokens, "calls": calls}


def make_tiny(out):
    torch.manual_seed(20)
    decoder = Decoder(vocab=64, d=32, heads=4, kv_heads=2, hidden=64, layers=2, context=96).eval()
    scratch = out / "scratch"
    scratch.mkdir()
    save_pairs(decoder, scratch)
    with zipfile.ZipFile(out / "llama_pairs.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for file in sorted(scratch.iterdir()):
            z.writestr(zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED, 9)
            file.unlink()
    scratch.rmdir()
    (out / "llama_tokens.json").write_text(json.dumps(tokens_of(decoder, 64)) + "\n")


def make_large(out, layers):
    torch.manual_seed(21)
    decoder = Decoder(vocab=8192, d=768, heads=12, kv_heads=4, hidden=2048, layers=layers, context=128).eval()
    print(sum(p.numel() for p in decoder.parameters()), "parameters")
    out.mkdir(parents=True, exist_ok=True)
    save_pairs(decoder, out)
    (out / "tokens.json").write_text(json.dumps(tokens_of(decoder, 8192)) + "\n")


def corpus_tokens(models, out):
    result = {}
    for kind in ("io", "state"):
        graphs = {}
        for name, n in (("prefill", PREFILL), ("decode", 1)):
            graphs[n] = torch.export.load(models / f"llama_{kind}_{name}" / "model.pt2").module()
        context, calls = 24, []
        for prompt in prompts(64):
            if kind == "io":
                caches = [torch.zeros(2, 1, 2, context, 8) for _ in range(2)]
                call = with_caches(lambda t, p, *c: graphs[t.shape[1]](t, p, *c), caches)
            else:
                for g in graphs.values():
                    for b in g.buffers():
                        b.zero_() if b.dim() == 5 else None

                def call(t, p):
                    this, other = graphs[t.shape[1]], graphs[PREFILL if t.shape[1] == 1 else 1]
                    with torch.no_grad():
                        logits = this(t, p)
                        for name in ("k_cache", "v_cache"):
                            other.get_buffer(name).copy_(this.get_buffer(name))
                    return logits
            calls.append({"prompt": prompt, "tokens": greedy(call, prompt, 64, context)})
        result[kind] = {"context": context, "new_tokens": 64, "calls": calls}
    (out / "corpus_tokens.json").write_text(json.dumps(result) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = parser.add_subparsers(dest="what", required=True)
    sub.add_parser("tiny").add_argument("out", type=pathlib.Path)
    large = sub.add_parser("large")
    large.add_argument("out", type=pathlib.Path)
    large.add_argument("--layers", type=int, default=16)
    corpus = sub.add_parser("corpus")
    corpus.add_argument("models", type=pathlib.Path)
    corpus.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    if args.what == "tiny":
        make_tiny(args.out)
    elif args.what == "large":
        make_large(args.out, args.layers)
    else:
        corpus_tokens(args.models, args.out)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes data/llama_rope and data/audio_spectrum with torch 2.13: models that compute with complex numbers inside."""
import json, math, pathlib, subprocess, sys
import numpy, torch

HERE = pathlib.Path(__file__).resolve().parent


class RotaryAttention(torch.nn.Module):
    """Attention as the first llama models wrote it: rotary embeddings as products with exp(i angle), kept in a complex buffer."""

    def __init__(self, dim=32, heads=4, kv_heads=2, length=16):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, dim // heads
        self.wq = torch.nn.Linear(dim, heads * self.size, bias=False)
        self.wk = torch.nn.Linear(dim, kv_heads * self.size, bias=False)
        self.wv = torch.nn.Linear(dim, kv_heads * self.size, bias=False)
        self.wo = torch.nn.Linear(heads * self.size, dim, bias=False)
        freqs = 1.0 / (10000.0 ** (torch.arange(0, self.size, 2).float() / self.size))
        angles = torch.outer(torch.arange(length).float(), freqs)
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def rotated(self, x, freqs):
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        freqs = freqs.view(1, x.shape[1], 1, -1)
        return torch.view_as_real(pairs * freqs).flatten(3).type_as(x)

    def forward(self, x, start):
        b, t, _ = x.shape
        q = self.wq(x).view(b, t, self.heads, self.size)
        k = self.wk(x).view(b, t, self.kv_heads, self.size)
        v = self.wv(x).view(b, t, self.kv_heads, self.size)
        freqs = self.freqs_cis[start + torch.arange(t)]
        q, k = self.rotated(q, freqs), self.rotated(k, freqs)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, dim=2) for y in (k, v))
        y = torch.nn.functional.scaled_dot_product_attention(*(y.transpose(1, 2) for y in (q, k, v)), is_causal=True)
        return self.wo(y.transpose(1, 2).reshape(b, t, -1))


class Spectrum(torch.nn.Module):
    """Loudness over time and frequency, and the signal shifted by multiplying its spectrum."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(32))
        self.register_buffer("shift", torch.exp(-2j * math.pi * 3 * torch.arange(51) / 100))
        self.mel = torch.nn.Linear(17, 8, bias=False)

    def forward(self, x):
        s = torch.stft(x, 32, hop_length=8, window=self.window, center=True, return_complex=True)
        loud = torch.log(self.mel(s.abs().pow(2).transpose(1, 2)).abs() + 1e-5)
        shifted = torch.fft.irfft(torch.fft.rfft(x) * self.shift * (1 + 0j), n=100)
        return loud, shifted, s.angle()[:, 1:3, 2:4].cos()


def save(name, model, calls, exercises, dynamic=None, atol=1e-4):
    model.eval()
    folder = HERE / "data" / name
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    (folder / "expected").mkdir(exist_ok=True)
    exported = torch.export.export(model, calls[0], dynamic_shapes=dynamic)
    torch.export.save(exported, folder / "model.pt2")
    subprocess.run([sys.executable, pathlib.Path(__file__).resolve().parents[2] / "scripts/strip_paths.py", folder / "model.pt2"], check=True)
    meta = {"name": name, "exercises": exercises, "torch": torch.__version__, "form": "training IR", "stateful": False, "random_outputs": False,
            "atol": atol, "inputs": [], "outputs": [], "ranges": {}, "buffers_mutated": [], "inputs_mutated": [], "calls": []}
    tensors = {n.name: n.meta["val"] for n in exported.graph.nodes if n.op == "placeholder"}
    sizes = lambda t: [int(s) if isinstance(s, int) else str(s) for s in t.shape]
    meta["inputs"] = [{"name": n, "symbolic": sizes(tensors[n])} for n in exported.graph_signature.user_inputs]
    last = list(exported.graph.nodes)[-1].args[0]
    meta["outputs"] = [{"name": n.name, "symbolic": sizes(n.meta["val"])} for n in last]
    meta["ranges"] = {str(s): [int(r.lower), int(r.upper)] for s, r in exported.range_constraints.items()}
    count = {"inputs": 0, "expected": 0}

    def kept(kind, t):
        path = f"{kind}/{count[kind]}.npy"
        count[kind] += 1
        numpy.save(folder / path, t.numpy())
        return {"kind": "tensor", "dtype": str(t.dtype).removeprefix("torch."), "shape": list(t.shape), "stride": list(t.stride()), "file": path}

    for inputs in calls:
        with torch.no_grad(): results = model(*inputs)
        results = results if isinstance(results, tuple) else (results,)
        meta["calls"].append({"inputs": [kept("inputs", t) for t in inputs], "expected": [kept("expected", t) for t in results]})
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n")


torch.manual_seed(0)
t = torch.export.Dim("t", min=2, max=8)
save("llama_rope", RotaryAttention(), [(torch.randn(1, 5, 32), torch.tensor(3)), (torch.randn(1, 8, 32), torch.tensor(0)), (torch.randn(1, 2, 32), torch.tensor(8))],
     "rotary embeddings in complex numbers, a complex64 buffer", dynamic=({1: t}, None))
save("audio_spectrum", Spectrum(), [(torch.randn(2, 100),), (torch.randn(2, 100),)], "stft, rfft and irfft, complex constants")

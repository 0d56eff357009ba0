#!/usr/bin/env python3
"""Makes tests/cli/data again (torch 2.13): small archives that the command line tests need.

  make_data.py      writes data/user_op.pt2, writing_op.pt2, writing_op_core.pt2, writing_views.pt2, writing_views_core.pt2
                    and data/user_kernels.json: their inputs and torch's results, two calls each
"""
import json, pathlib, subprocess, sys
import torch

HERE = pathlib.Path(__file__).resolve().parent


@torch.library.custom_op("my::scaled", mutates_args=())
def scaled(x: torch.Tensor, w: torch.Tensor, n: int, scale: float = 1.0) -> torch.Tensor:
    return torch.cat([x * scale] * n, 1) + w.sum()


@scaled.register_fake
def _(x, w, n, scale=1.0):
    return x.new_empty(x.shape[0], x.shape[1] * n)


class UserOp(torch.nn.Module):
    def forward(self, x, w):
        return torch.relu(torch.ops.my.scaled(x, w, 2, 0.5))


@torch.library.custom_op("my::decay_", mutates_args=("state",))
def decay_(state: torch.Tensor, x: torch.Tensor, rate: float) -> None:
    state.mul_(rate).add_(x)


@torch.library.custom_op("my::step", mutates_args=("a", "b"))
def step(a: torch.Tensor, x: torch.Tensor, b: torch.Tensor, rate: float) -> torch.Tensor:
    a.add_(x, alpha=rate)
    b.mul_(rate)
    return a * b


@step.register_fake
def _(a, x, b, rate):
    return torch.empty_like(a)


class WritingViews(torch.nn.Module):
    """Writes to parts of tensors, to two parts of one, and gives a result."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.ones(5, 4))

    def forward(self, x):
        y = x * 2
        r = torch.ops.my.step(self.state[1:3], x[:2], self.state[3:], 0.5)
        s = torch.ops.my.step(y[:, :2], x[:, :2], y[:, 2:], 0.25)
        return r, s, y + 1, self.state * 1


class WritingOp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.ones(3, 4))

    def forward(self, x):
        y = x * 2
        torch.ops.my.decay_(y, x, 0.5)
        torch.ops.my.decay_(self.state, y, 0.25)
        return y + 1, self.state * 1


def calls(model, *shapes):
    """Two calls, one after the other on the same state: inputs and results, all float32 in logical order."""
    out = []
    for _ in range(2):
        inputs = [torch.randn(s) for s in shapes]
        results = model(*inputs)
        flat = lambda values: [{"shape": list(t.shape), "data": t.flatten().tolist()} for t in values]
        out.append({"inputs": flat(inputs), "outputs": flat(results if isinstance(results, tuple) else (results,))})
    return out


if __name__ == "__main__":
    torch.manual_seed(0)
    (HERE / "data").mkdir(exist_ok=True)
    batch = torch.export.Dim("b", min=1, max=8)
    ep = torch.export.export(UserOp(), (torch.randn(3, 4), torch.randn(5)), dynamic_shapes={"x": {0: batch}, "w": None})
    torch.export.save(ep, HERE / "data/user_op.pt2")
    ep = torch.export.export(WritingOp(), (torch.randn(3, 4),))
    torch.export.save(ep, HERE / "data/writing_op.pt2")
    torch.export.save(ep.run_decompositions(), HERE / "data/writing_op_core.pt2")
    ep = torch.export.export(WritingViews(), (torch.randn(3, 4),))
    torch.export.save(ep, HERE / "data/writing_views.pt2")
    torch.export.save(ep.run_decompositions(), HERE / "data/writing_views_core.pt2")
    expected = {"user_op": calls(UserOp(), (3, 4), (5,)), "writing_op": calls(WritingOp(), (3, 4)),
                "writing_views": calls(WritingViews(), (3, 4))}
    (HERE / "data/user_kernels.json").write_text(json.dumps(expected) + "\n")
    subprocess.run([sys.executable, HERE.parents[1] / "scripts/strip_paths.py", *(HERE / "data").glob("*.pt2")], check=True)

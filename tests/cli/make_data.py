#!/usr/bin/env python3
"""Makes tests/cli/data again (torch 2.13): small archives that the command line tests need.

  make_data.py      writes data/user_op.pt2
"""
import pathlib
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


if __name__ == "__main__":
    (HERE / "data").mkdir(exist_ok=True)
    batch = torch.export.Dim("b", min=1, max=8)
    ep = torch.export.export(UserOp(), (torch.randn(3, 4), torch.randn(5)), dynamic_shapes={"x": {0: batch}, "w": None})
    torch.export.save(ep, HERE / "data/user_op.pt2")

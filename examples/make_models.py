"""Writes the models of the examples (needs torch): examples/models/*.pt2."""
import pathlib, subprocess, sys

import torch

HERE = pathlib.Path(__file__).parent / "models"


class LowerableSubModel(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x)


class TwoRegions(torch.nn.Module):
    def forward(self, a, x, b):
        y = torch.mm(a, x)
        z = y + b
        a = z - a
        y = torch.mm(a, x)
        z = y + b
        return z


class Activations(torch.nn.Module):
    def forward(self, x):
        return (torch.sigmoid(x) * x).exp() + torch.cos(x)


def save(name, module, *inputs):
    torch.export.save(torch.export.export(module, inputs), HERE / f"{name}.pt2")
    subprocess.run([sys.executable, HERE.parents[1] / "scripts/strip_paths.py", HERE / f"{name}.pt2"], check=True)


HERE.mkdir(exist_ok=True)
save("sin", LowerableSubModel(), torch.ones(1))
save("two_regions", TwoRegions(), torch.ones(2, 2), torch.ones(2, 2), torch.ones(2, 2))
save("activations", Activations(), torch.ones(1, 3, 4, 4))

#!/usr/bin/env python3
"""Writes the inputs and torch's results of tests/models/share_state: a prefill of eight tokens, then three decode steps that find its
cache. The two models are `llama_state_prefill` and `llama_state_decode` of the model corpus.

  make_share_state.py      (needs torch and numpy)
"""
import pathlib

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).resolve().parent / "share_state"
prefill, decode = (torch.export.load(FOLDER / f"{m}.pt2").module() for m in ("prefill", "decode"))
calls = [(prefill, torch.tensor([[5, 9, 33, 2, 60, 17, 8, 41]]), torch.arange(8))]
calls += [(decode, torch.tensor([[7 + k]]), torch.tensor([8 + k])) for k in range(3)]
states = dict(prefill.named_buffers())
for k, (module, *inputs) in enumerate(calls):
    if k == 1:
        for name, buffer in decode.named_buffers():
            buffer.copy_(states[name])
    for i, value in enumerate(inputs):
        np.save(FOLDER / f"call{k}_input{i}.npy", value.numpy())
    np.save(FOLDER / f"call{k}_expected.npy", module(*inputs).detach().numpy())

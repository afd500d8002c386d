"""Writes course_torch.json: the course's check against torch.nn.functional.scaled_dot_product_attention, with and
without a causal mask, in float64 and float32, with the gradients of sum(output * upstream).

Run by hand with torch 2.13.0 and NumPy; the tests read the JSON and need no Python. Inputs are the course's own draws:
np.random.seed(42), then X [2, 5, 8], W_q, W_k, W_v [8, 8] times 0.1. upstream is 1/80, 2/80, .. 80/80.
"""
import json
import pathlib

import numpy as np
import torch

np.random.seed(42)
X = np.random.randn(2, 5, 8)
W = [np.random.randn(8, 8) * 0.1 for _ in range(3)]
upstream = np.arange(1, 81).reshape(2, 5, 8) / 80


def flat(x):
    return {"shape": list(x.shape), "values": x.detach().double().flatten().tolist()}


def case(dtype, causal):
    x, w_q, w_k, w_v = (torch.tensor(a, dtype=dtype, requires_grad=True) for a in [X, *W])
    output = torch.nn.functional.scaled_dot_product_attention(x @ w_q, x @ w_k, x @ w_v, is_causal=causal)
    (output * torch.tensor(upstream, dtype=dtype)).sum().backward()
    return {"output": flat(output), "dX": flat(x.grad), "dW_q": flat(w_q.grad), "dW_k": flat(w_k.grad),
            "dW_v": flat(w_v.grad)}


result = {"torch": torch.__version__.split("+")[0]}
for dtype in (torch.float64, torch.float32):
    for causal in (True, False):
        name = f"{str(dtype).removeprefix('torch.')}/{'causal' if causal else 'full'}"
        result[name] = case(dtype, causal)
pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(result) + "\n")

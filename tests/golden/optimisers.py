"""Writes optimisers.json: what torch.optim makes of two parameters in 100 steps, in float64.

Run by hand with torch 2.13.0; the tests read the JSON and need no Python. The gradient of element i in step t
(from 1) is 0.5 * p[i] + cos(t + i); every seventh step the second parameter has none.
"""
import json
import math
import pathlib

import torch

KEEP = (1, 2, 3, 6, 7, 8, 50, 100)


def gradient(parameter, step):
    count = parameter.numel()
    wave = torch.tensor([math.cos(step + i) for i in range(count)], dtype=torch.float64)
    return 0.5 * parameter.detach() + wave.reshape(parameter.shape)


def run(make):
    first = torch.nn.Parameter(torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(3, 2))
    second = torch.nn.Parameter(torch.tensor([2.0, -3.0], dtype=torch.float64))
    optimizer = make(first, second)
    kept = {}
    for step in range(1, 101):
        first.grad = gradient(first, step)
        second.grad = None if step % 7 == 0 else gradient(second, step)
        optimizer.step()
        if step in KEEP:
            kept[str(step)] = {"first": first.flatten().tolist(), "second": second.tolist()}
    return kept


def sgd(**options):
    return lambda a, b: torch.optim.SGD([a, b], **options)


def adam(**options):
    return lambda a, b: torch.optim.Adam([a, b], **options)


def adamw(**options):
    return lambda a, b: torch.optim.AdamW([a, b], **options)


runs = {
    "sgd": sgd(lr=0.1),
    "sgd/decay": sgd(lr=0.1, weight_decay=0.05),
    "sgd/momentum": sgd(lr=0.05, momentum=0.9),
    "sgd/momentum, dampening, decay": sgd(lr=0.05, momentum=0.8, dampening=0.3, weight_decay=0.02),
    "adam": adam(lr=0.01),
    "adam/decay": adam(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
    "adamw": adamw(lr=0.01),
    "adamw/decay": adamw(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
    "adamw/groups": lambda a, b: torch.optim.AdamW(
        [{"params": [a]}, {"params": [b], "lr": 0.05, "weight_decay": 0.0, "betas": (0.5, 0.9)}], lr=0.01),
}

if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".json")
    document = {"torch": torch.__version__.split("+")[0], "runs": {name: run(make) for name, make in runs.items()}}
    path.write_text(json.dumps(document, indent=1) + "\n")

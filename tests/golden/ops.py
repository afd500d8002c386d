"""Writes ops.json: what PyTorch makes of elementwise functions, reductions, losses, moves, sums by letters and sorting,
with gradients of first and second order, in float64.

Run by hand with torch 2.13.0; the tests read the JSON and need no Python. A case is its inputs, its output, `seed`,
the gradients of sum(seed·output), and the gradients of half the sum of their squares (null where nothing depends on an
input). Inputs that are ids have no gradient.
"""
import json
import pathlib

import torch
import torch.nn.functional as F

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
INFINITY = float("inf")


def t(values):
    return torch.tensor(values, dtype=torch.float64)


def rand(*shape):
    return torch.randn(*shape)


def unit(*shape):
    return 0.1 + 0.8 * torch.rand(*shape)


def flat(x):
    if x is None:
        return None
    x = x.detach() if x.dtype == torch.int64 else x.detach() + 0.0  # torch's symbolic zeros have no storage
    return {"shape": list(x.shape), "values": x.flatten().tolist()}


def run(f, inputs):
    leaves = [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]
    wanted = [x for x in leaves if x.requires_grad]
    output = f(*leaves)
    seed = torch.randn_like(output)
    first = torch.autograd.grad(output, wanted, seed, create_graph=True, allow_unused=True)
    squares = sum(0.5 * (dx * dx).sum() for dx in first if dx is not None)
    second = [None] * len(wanted)
    if squares.requires_grad:
        second = torch.autograd.grad(squares, wanted, allow_unused=True)
    return {"inputs": [flat(x) for x in inputs], "ids": [not x.is_floating_point() for x in inputs], "output": flat(output),
            "seed": flat(seed), "gradients": [flat(x) for x in first], "second": [flat(x) for x in second]}


x = rand(2, 3)
ids = torch.tensor([2, 0, -100, 1])
weights = t([1, 2, 0.5])
CASES = {
    "clamp": (lambda x: x.clamp(-1, 0.5), t([-2, -1, -0.3, 0.5, 0.7])),
    "clamp, bounds the wrong way round": (lambda x: x.clamp(1, -1), x),
    "log1p": (torch.log1p, unit(2, 3)),
    "expm1": (torch.expm1, x),
    "sin": (torch.sin, x),
    "cos": (torch.cos, x),
    "erf": (torch.erf, x),
    "silu": (F.silu, 3 * x),
    "log_sigmoid": (F.logsigmoid, 10 * x),
    "xlogy": (torch.xlogy, t([0, 0.5, -2, 0]), t([2, 0.5, 3, 0.1])),
    "entropy": (lambda p: torch.special.entr(p).sum(-1), unit(2, 3)),
    "min, with ties": (lambda x: x.amin(-1), t([[1, 1, 2], [0, 3, -1]])),
    "prod": (lambda x: x.prod(-1), rand(2, 5)),
    "prod of everything": (torch.prod, rand(2, 3)),
    "prod with a zero": (lambda x: x.prod(-1), t([[2, 0, 3], [1, 5, 2]])),
    "prod with two zeros": (lambda x: x.prod(-1), t([[2, 0, 0], [1, 5, 2]])),
    "standard deviation": (lambda x: x.std((0, 2), correction=0), rand(2, 3, 4)),
    "standard deviation of a sample": (lambda x: x.std(-1, keepdim=True), rand(2, 4)),
    "norm of order 1": (lambda x: torch.linalg.vector_norm(x, 1, -1), t([[1, -2, 0], [3, 0.5, -1]])),
    "norm of order infinity": (lambda x: torch.linalg.vector_norm(x, INFINITY, -1), t([[1, -3, 2], [0.5, 2, -1]])),
    "cumsum": (lambda x: x.cumsum(0), rand(4, 2)),
    "pad": (lambda x: F.pad(x, (1, 2, 0, 1), value=3.0), x),
    "flip": (lambda x: x.flip((0, 1)), x),
    "roll": (lambda x: x.roll(-4, 1), x),
    "tile": (lambda x: x.tile((2, 1, 2)), x),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), x),
    "sort": (lambda x: x.sort(-1).values, rand(2, 5)),
    "sort, stable and descending": (lambda x: torch.sort(x, stable=True, dim=0, descending=True).values, t([2, 1, 2, 3, 1])),
    "top_k": (lambda x: x.topk(2, 0).values, rand(5, 2)),
    "einsum bhqd,bhkd->bhqk": (lambda q, k: torch.einsum("bhqd,bhkd->bhqk", q, k), rand(2, 2, 3, 2), rand(2, 2, 2, 2)),
    "einsum ...ij,jk": (lambda a, b: torch.einsum("...ij,jk", a, b), rand(2, 2, 3), rand(3, 2)),
    "einsum bi,ijk,bj->bk": (lambda a, b, c: torch.einsum("bi,ijk,bj->bk", a, b, c), rand(2, 2), rand(2, 3, 2), rand(2, 3)),
    "einsum ii->i": (lambda a: torch.einsum("ii->i", a), rand(3, 3)),
    "einsum ...,...i->i...": (lambda a, b: torch.einsum("...,...i->i...", a, b), rand(2, 1), rand(2, 3, 2)),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w, 1e-5), rand(2, 4), rand(4)),
    "rms_norm without a weight": (lambda x: F.rms_norm(x, (4,), None, 0.1), rand(2, 4)),
    "nll_loss": (lambda x, i: F.nll_loss(x, i), rand(4, 3), ids),
    "nll_loss, weighted": (lambda x, i: F.nll_loss(x, i, weights), rand(4, 3), ids),
    "nll_loss, weighted sum": (lambda x, i: F.nll_loss(x, i, weights, reduction="sum"), rand(4, 3), ids),
    "nll_loss of each row": (lambda x, i: F.nll_loss(x, i, ignore_index=1, reduction="none"), rand(3, 3), torch.tensor([2, 0, 1])),
    "bce": (F.binary_cross_entropy_with_logits, 20 * rand(2, 3), unit(2, 3)),
    "bce, weighted": (lambda x, y: F.binary_cross_entropy_with_logits(x, y, weights, pos_weight=t([2, 1, 0.3])), rand(2, 3), unit(2, 3)),
    "bce of each": (lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"), rand(2, 3), unit(2, 3)),
    "kl_divergence": (F.kl_div, rand(2, 3), unit(2, 3)),
    "kl_divergence of a batch": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), rand(2, 3), unit(2, 3)),
    "kl_divergence of logarithms": (lambda x, y: F.kl_div(x, y, reduction="sum", log_target=True), rand(2, 3), rand(2, 3)),
}

if __name__ == "__main__":
    document = {"torch": torch.__version__.split("+")[0], "cases": {n: run(f, inputs) for n, (f, *inputs) in CASES.items()}}
    pathlib.Path(__file__).with_suffix(".json").write_text(json.dumps(document) + "\n")

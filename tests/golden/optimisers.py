"""Writes optimisers.json: what torch.optim makes of two parameters in 100 steps, in float64, the rates of its
schedules, and its averages of parameters.

Run by hand with torch 2.13.0; the tests read the JSON and need no Python. The gradient of element i in step t
(from 1) is 0.5 * p[i] + cos(t + i); every seventh step the second parameter has none. Where matrices are asked for
the second parameter is a row. Matrices are as regard has them, [in, out], the transpose of torch's: Muon gets them
transposed. Lion, which torch does not have, is written out below.
"""
import json
import math
import pathlib

import torch

KEEP = (1, 2, 3, 6, 7, 8, 50, 100)

# torch.optim.Muon orthogonalises in bfloat16; here it shall stay in float64.
torch.Tensor.bfloat16 = torch.Tensor.clone


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                update = (beta1 * m + (1 - beta1) * p.grad).sign()
                p -= group["lr"] * (update + group["weight_decay"] * p)
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


def gradient(parameter, step):
    count = parameter.numel()
    wave = torch.tensor([math.cos(step + i) for i in range(count)], dtype=torch.float64)
    return 0.5 * parameter.detach() + wave.reshape(parameter.shape)


def run(make, matrices=False):
    first = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(3, 2)
    second = torch.tensor([2.0, -3.0], dtype=torch.float64)
    if matrices:
        second = second.reshape(1, 2)

    def turned(x):
        return x.T.contiguous() if matrices else x
    parameters = [torch.nn.Parameter(turned(x)) for x in (first, second)]
    optimizer = make(*parameters)
    kept = {}
    for step in range(1, 101):
        for i, p in enumerate(parameters):
            p.grad = None if i == 1 and step % 7 == 0 else turned(gradient(turned(p.detach()), step))
        optimizer.step()
        if step in KEEP:
            kept[str(step)] = {name: turned(p.detach()).flatten().tolist()
                               for name, p in zip(("first", "second"), parameters)}
    return kept


def rates(make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule = make(optimizer)
    found = []
    for _ in range(100):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def average(**options):
    """Of a parameter whose element i is cos(t + i) * (1 + t / 10) after step t."""
    model = torch.nn.Linear(3, 1, bias=False, dtype=torch.float64)
    averaged = torch.optim.swa_utils.AveragedModel(model, **options)
    for step in range(1, 101):
        with torch.no_grad():
            model.weight.copy_(torch.tensor([[math.cos(step + i) * (1 + step / 10) for i in range(3)]],
                                           dtype=torch.float64))
        averaged.update_parameters(model)
    return averaged.module.weight.flatten().tolist()


def sgd(**options):
    return lambda a, b: torch.optim.SGD([a, b], **options)


def adam(**options):
    return lambda a, b: torch.optim.Adam([a, b], **options)


def adamw(**options):
    return lambda a, b: torch.optim.AdamW([a, b], **options)


def rmsprop(**options):
    return lambda a, b: torch.optim.RMSprop([a, b], **options)


def adagrad(**options):
    return lambda a, b: torch.optim.Adagrad([a, b], **options)


def lion(**options):
    return lambda a, b: Lion([a, b], **options)


def muon(**options):
    return lambda a, b: torch.optim.Muon([a, b], **options)


runs = {
    "sgd": sgd(lr=0.1),
    "sgd/decay": sgd(lr=0.1, weight_decay=0.05),
    "sgd/momentum": sgd(lr=0.05, momentum=0.9),
    "sgd/momentum, dampening, decay": sgd(lr=0.05, momentum=0.8, dampening=0.3, weight_decay=0.02),
    "sgd/nesterov": sgd(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.02),
    "adam": adam(lr=0.01),
    "adam/decay": adam(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
    "adamw": adamw(lr=0.01),
    "adamw/decay": adamw(lr=0.02, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1),
    "adamw/groups": lambda a, b: torch.optim.AdamW(
        [{"params": [a]}, {"params": [b], "lr": 0.05, "weight_decay": 0.0, "betas": (0.5, 0.9)}], lr=0.01),
    "rmsprop": rmsprop(),
    "rmsprop/momentum": rmsprop(lr=0.005, alpha=0.9, momentum=0.7),
    "rmsprop/centered": rmsprop(lr=0.005, alpha=0.9, eps=1e-6, centered=True),
    "rmsprop/centered, momentum, decay": rmsprop(lr=0.005, alpha=0.95, centered=True, momentum=0.5, weight_decay=0.1),
    "adagrad": adagrad(),
    "adagrad/decays": adagrad(lr=0.1, lr_decay=0.02, initial_accumulator_value=0.3, eps=1e-6, weight_decay=0.1),
    "lion": lion(lr=1e-2, betas=(0.9, 0.99), weight_decay=0.0),
    "lion/decay": lion(lr=2e-2, betas=(0.8, 0.95), weight_decay=0.3),
}
matrix_runs = {
    "muon": muon(lr=0.02),
    "muon/plain, as adam": muon(lr=0.05, nesterov=False, momentum=0.8, weight_decay=0.0, ns_steps=3,
                                adjust_lr_fn="match_rms_adamw"),
    "muon/other polynomial": muon(lr=0.02, ns_coefficients=(2.0, -1.5, 0.5), eps=1e-5),
}
schedules = torch.optim.lr_scheduler
schedule_runs = {
    "step": lambda o: schedules.StepLR(o, step_size=30, gamma=0.3),
    "linear": lambda o: schedules.LinearLR(o, start_factor=0.25, end_factor=0.75, total_iters=40),
    "cosine": lambda o: schedules.CosineAnnealingLR(o, T_max=99, eta_min=0.01),
    "cosine/restarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, T_0=30, T_mult=1, eta_min=0.05),
    "cosine/longer restarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, T_0=7, T_mult=2),
    "one cycle": lambda o: schedules.OneCycleLR(o, max_lr=0.5, total_steps=100, cycle_momentum=False),
    "one cycle/linear": lambda o: schedules.OneCycleLR(
        o, max_lr=0.5, total_steps=100, pct_start=0.213, anneal_strategy="linear", div_factor=10, final_div_factor=5,
        cycle_momentum=False),
}

if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".json")
    document = {
        "torch": torch.__version__.split("+")[0],
        "runs": {**{name: run(make) for name, make in runs.items()},
                 **{name: run(make, matrices=True) for name, make in matrix_runs.items()}},
        "averages": {
            "exponential": average(multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)),
            "equal": average(),
        },
        "schedules": {name: rates(make) for name, make in schedule_runs.items()},
    }
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n")

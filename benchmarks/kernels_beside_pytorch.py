#!/usr/bin/env python3
"""The cases of benchmark_kernels in PyTorch, in turns with it, on one thread: ratios of the fastest rounds.

    kernels_beside_pytorch.py build/release/bin/benchmark_kernels [CASE ...]
"""
import os
import subprocess
import sys
import time

import torch
from torch.nn import functional

torch.set_num_threads(1)
torch.manual_seed(1)


def gradient_of(y, x):
    seed = torch.randn(y.shape)
    return lambda: torch.autograd.grad(y, x, seed, retain_graph=True)


def variable(*shape):
    return torch.randn(*shape, requires_grad=True)


def forward(f, *shapes):
    x = [torch.randn(*shape) for shape in shapes]
    return lambda: f(*x)


def backward(f, *shapes):
    x = [variable(*shape) for shape in shapes]
    return gradient_of(f(*x), x)


def softmax(x):
    return torch.softmax(x, -1)


def layer_norm(x, gamma, beta):
    return functional.layer_norm(x, (512,), gamma, beta)


def cross_entropy(x):
    return functional.cross_entropy(x, torch.arange(256))


def embedding(table):
    return functional.embedding(torch.randint(0, 8000, (64, 64)), table)


def adam(fused):
    p = torch.nn.Parameter(torch.randn(10_000_000))
    p.grad = torch.randn(10_000_000)
    return torch.optim.Adam([p], fused=fused).step


HIDDEN, ROW = (1024, 512), (512,)
CASES = {
    "softmax_128": lambda: forward(softmax, (4096, 128)),
    "softmax_128_backward": lambda: backward(softmax, (4096, 128)),
    "softmax_2048": lambda: forward(softmax, (256, 2048)),
    "softmax_2048_backward": lambda: backward(softmax, (256, 2048)),
    "layer_norm": lambda: forward(layer_norm, HIDDEN, ROW, ROW),
    "layer_norm_backward": lambda: backward(layer_norm, HIDDEN, ROW, ROW),
    "gelu": lambda: forward(functional.gelu, HIDDEN),
    "gelu_tanh": lambda: forward(lambda x: functional.gelu(x, approximate="tanh"), HIDDEN),
    "gelu_backward": lambda: backward(functional.gelu, HIDDEN),
    "bias": lambda: forward(torch.add, HIDDEN, ROW),
    "cross_entropy": lambda: forward(cross_entropy, (256, 8000)),
    "cross_entropy_backward": lambda: backward(cross_entropy, (256, 8000)),
    "embedding_backward": lambda: backward(embedding, (8000, 256)),
    "adam": lambda: adam(True),
}


def microseconds(work):
    work()
    fastest, end = float("inf"), time.perf_counter() + 0.4
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest * 1e6


def own(program, case):
    text = subprocess.run([program, case], check=True, capture_output=True, text=True).stdout
    return float(text.split()[1])


def main():
    program, wanted = sys.argv[1], sys.argv[2:] or list(CASES)
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}; "
          f"regard on {os.environ.get('REGARD_INSTRUCTION_SET', 'the best set')}")
    print(f"{'case':24} {'PyTorch/regard':>14}   above 1: regard is faster")
    for case in wanted:
        rounds = [(microseconds(CASES[case]()), own(program, case)) for _ in range(3)]
        theirs, ours = (min(column) for column in zip(*rounds))
        print(f"{case:24} {theirs / ours:14.2f}   {theirs:.0f} and {ours:.0f} us", flush=True)
    for width in (128, 2048):
        copy = min(own(program, f"copy_{width}") for _ in range(3))
        forward_time = min(own(program, f"softmax_{width}") for _ in range(3))
        print(f"softmax_{width} over a copy of its bytes: {forward_time / copy:.2f}", flush=True)


if __name__ == "__main__":
    main()

"""The works of benchmark_beside in PyTorch, timed in turns with it. scripts/compare-speed-with-pytorch calls this."""
import argparse
import fnmatch
import itertools
import math
import os
import re
import statistics
import subprocess
import sys
import time
import warnings

import torch
import torch.nn.functional as F
from torch import nn

import demo_in_pytorch

DTYPES = {"float32": torch.float32, "float64": torch.float64}


# ---- PyTorch's side: name -> what prepares it; preparing gives a call, and by how many units its time is divided ------

def numbers(shape, dtype, grad=False):
    return torch.randn(shape, dtype=dtype, requires_grad=grad)


def forward(f, *shapes):
    def prepare(dtype):
        x = [numbers(shape, dtype) for shape in shapes]
        return lambda: f(*x)
    return prepare


def backward(f, *shapes):
    def prepare(dtype):
        x = [numbers(shape, dtype, True) for shape in shapes]
        y = f(*x)
        seed = torch.randn_like(y)
        return lambda: torch.autograd.grad(y, x, seed, retain_graph=True)
    return prepare


def masked_softmax(rows, width):
    hidden = torch.rand(rows, width) >= 0.9
    return lambda x: torch.softmax(x.masked_fill(hidden, -math.inf), -1)


def adam(dtype, **options):
    p = nn.Parameter(numbers((10_000_000,), dtype))
    p.grad = numbers((10_000_000,), dtype)
    return torch.optim.Adam([p], **options).step


def batch_of(n):
    return max(1, min(64, 2**21 // n**3))


def matmul(turn_a, turn_b, n):
    def prepare(dtype):
        a, b = (numbers((batch_of(n), n, n), dtype) for _ in range(2))
        return lambda: torch.matmul(a.mT if turn_a else a, b.mT if turn_b else b)
    return prepare


def chain(length):
    def prepare(dtype):
        x, w = (torch.tensor(1.0, dtype=dtype, requires_grad=True) for _ in range(2))

        def run():
            y = x
            for _ in range(length):
                y = y * w
            torch.autograd.grad(y, (x, w))
        return run, length
    return prepare


def step_of(model, inputs, compiled=False):
    """One step of training: gradients, and Adam."""
    optimizer = torch.optim.Adam(model.parameters())
    loss_of = torch.compile(model) if compiled else model

    def run():
        optimizer.zero_grad()
        loss_of(*inputs).backward()
        optimizer.step()
    return run


class OneHead(nn.Module):
    def __init__(self, tokens, width, vocabulary, dtype):
        super().__init__()

        def table(rows, columns):
            return nn.Parameter(0.2 * numbers((rows, columns), dtype))
        self.words, self.positions = table(vocabulary, width), table(tokens, width)
        self.w_q, self.w_k, self.w_v = (table(width, width) for _ in range(3))
        self.readout, self.bias = table(width, vocabulary), nn.Parameter(torch.zeros(vocabulary, dtype=dtype))

    def forward(self, ids, targets):
        x = F.embedding(ids, self.words) + self.positions
        y = x + F.scaled_dot_product_attention(x @ self.w_q, x @ self.w_k, x @ self.w_v, is_causal=True)
        return F.cross_entropy((y @ self.readout + self.bias).flatten(0, 1), targets.flatten())


def one_head(batch, tokens, width, vocabulary, compiled=False):
    def prepare(dtype):
        ids = torch.randint(0, vocabulary, (batch, tokens))
        return step_of(OneHead(tokens, width, vocabulary, dtype), (ids, ids), compiled)
    return prepare


def encoder_layer(width, dtype):
    return nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0, activation="gelu", batch_first=True, norm_first=True,
                                      dtype=dtype)


def causal(tokens, dtype):
    return nn.Transformer.generate_square_subsequent_mask(tokens, dtype=dtype)


def block(dtype):
    model, x, mask = encoder_layer(256, dtype), numbers((16, 128, 256), dtype, True), causal(128, dtype)

    def run():
        model.zero_grad()
        x.grad = None
        model(x, src_mask=mask, is_causal=True).sum().backward()
    return run


class LanguageModel(nn.Module):
    def __init__(self, width, vocabulary, tokens, dtype):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, dtype=dtype)
        self.positions = nn.Parameter(0.02 * numbers((tokens, width), dtype))
        self.blocks = nn.ModuleList(encoder_layer(width, dtype) for _ in range(4))
        self.norm = nn.LayerNorm(width, dtype=dtype)
        self.readout = nn.Linear(width, vocabulary, dtype=dtype)
        self.mask = causal(tokens, dtype)

    def forward(self, ids, targets):
        x = self.embedding(ids) + self.positions
        for layer in self.blocks:
            x = layer(x, src_mask=self.mask, is_causal=True)
        return F.cross_entropy(self.readout(self.norm(x)).flatten(0, 1), targets.flatten())


def four_blocks(dtype):
    ids = torch.randint(0, 8000, (2, 128))
    return step_of(LanguageModel(512, 8000, 128, dtype), (ids, ids))


def attention(*shape):
    def prepare(dtype):
        x = [numbers(shape, dtype, True) for _ in range(3)]
        return lambda: torch.autograd.grad(F.scaled_dot_product_attention(*x, is_causal=True).sum(), x)
    return prepare


HIDDEN, ROW, LESSON, LARGER = (1024, 512), (512,), (2, 5, 8, 11), (64, 12, 32, 40)
OPERATIONS = {
    "softmax_128": (lambda x: torch.softmax(x, -1), (4096, 128)),
    "softmax_2048": (lambda x: torch.softmax(x, -1), (256, 2048)),
    "masked_softmax_128": (masked_softmax(4096, 128), (4096, 128)),
    "masked_softmax_2048": (masked_softmax(256, 2048), (256, 2048)),
    "layer_norm": (lambda x, gamma, beta: F.layer_norm(x, ROW, gamma, beta), HIDDEN, ROW, ROW),
    "gelu": (F.gelu, HIDDEN),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), HIDDEN),
    "bias": (torch.add, HIDDEN, ROW),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.arange(256)), (256, 8000)),
    "embedding": (lambda table: F.embedding(torch.randint(0, 8000, (64, 64)), table), (8000, 256)),
}
PYTORCH = {
    "one_head_lesson": one_head(*LESSON),
    "one_head_lesson compiled": one_head(*LESSON, compiled=True),
    "one_head_batch_64": one_head(*LARGER),
    "one_head_batch_64 compiled": one_head(*LARGER, compiled=True),
    "block": block,
    "four_blocks": four_blocks,
    "attention_5": attention(2, 1, 5, 8),
    "attention_12": attention(64, 1, 12, 32),
    "attention_128": attention(16, 8, 128, 32),
    "attention_4096": attention(1, 4, 4096, 64),
    "adam": adam,
    "adam fused": lambda dtype: adam(dtype, fused=True),
}
for name, (f, *shapes) in OPERATIONS.items():
    PYTORCH[name] = forward(f, *shapes)
    PYTORCH[name + "_backward"] = backward(f, *shapes)
SIZES = [2**i for i in range(1, 11)]
TURNS = [turn_a + turn_b for turn_a, turn_b in itertools.product("nt", repeat=2)]
for turn, n in itertools.product(TURNS, SIZES):
    PYTORCH[f"matmul_{turn}_{n}"] = matmul(turn[0] == "t", turn[1] == "t", n)
for length in (10**3, 10**4, 10**5):
    PYTORCH[f"chain_{length}"] = chain(length)

# ---- the table: regard's work, whose it is timed beside, their work, and how many times as long that is to take ---------

ROWS = []


def row(ours, whose, theirs=None, goal=None):
    ROWS.append((ours, whose, theirs or ours, goal))


def rows_of_steps(name, eager, compiled, hand, replayed_hand):
    row(name, "PyTorch", goal=eager)
    row(name + "_replayed", "PyTorch", name)
    row(name + "_replayed", "PyTorch", name + " compiled", compiled)
    row(name, "by hand", name + "_by_hand", 1 / hand)
    row(name + "_replayed", "by hand", name + "_by_hand", 1 / replayed_hand)


def fill_table(narrow_blas):
    """narrow_blas: that has kernels for narrower vectors than the machine's."""
    rows_of_steps("one_head_lesson", 40, 8, 1.3, 0.9)
    for name in ("one_head_batch_64", *demo_in_pytorch.STEPS):
        rows_of_steps(name, 4, 1.5, 1.1, 0.9 if narrow_blas else 1.05)
    for name in demo_in_pytorch.RUNS:
        row(name, "PyTorch", goal=6)
    row("block", "PyTorch", goal=1.1)
    row("block", "BLAS + copies", "block_bare_causal", 1 / 1.15)
    row("block", "same, unmasked", "block_bare", 1 / 1.15)
    row("four_blocks", "PyTorch", goal=1)
    row("four_blocks_replayed", "PyTorch", "four_blocks")
    for tokens in (5, 12, 128, 4096):
        row(f"attention_{tokens}", "PyTorch", goal=1.1)
    for name in OPERATIONS:
        for way in ("", "_backward"):
            row(name + way, "PyTorch", goal=1.2 if "masked" in name else 1)
    for width, way in itertools.product((128, 2048), ("", "_backward")):
        row(f"softmax_{width}{way}", "a copy", f"copy_{width}{way}")
        row(f"masked_softmax_{width}{way}", "a copy", f"copy_{width}{way}" if way else f"copy_masked_{width}", 1 / 2)
    row("adam", "PyTorch", goal=1)
    row("adam", "PyTorch", "adam fused")
    for n, turn in itertools.product(SIZES, TURNS):
        row(f"matmul_{turn}_{n}", "BLAS", f"blas_{turn}_{n}", 1 if n < 32 else 1 / 1.03)
        row(f"matmul_{turn}_{n}", "PyTorch")
    for length in (10**3, 10**4, 10**5):
        row(f"chain_{length}", "PyTorch")
    for kind, nanoseconds in (("chain", 150), ("chain_of_one_input", 60)):
        row(f"{kind}_1000", f"{nanoseconds} ns", nanoseconds * 1e-9, 1)
        for power in (4, 5, 6, 7):
            row(f"{kind}_{10**power}", f"{kind}_1000", f"{kind}_1000", 0.8)


# ---- timing ---------------------------------------------------------------------------------------------------------

class Failure(Exception):
    pass


class Torch:
    def prepare(self, name, dtype, threads):
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        try:
            prepared = PYTORCH[name](DTYPES[dtype])
            self.run, self.units = prepared if isinstance(prepared, tuple) else (prepared, 1)
            once = self.seconds(1)
            if once < 1:
                once = min(self.seconds(1) for _ in range(4))
        except Exception as error:  # of many kinds where the machine has no compiler
            raise Failure(f"PyTorch: {str(error).splitlines()[0]}") from error
        self.calls = 1 if once > 0.02 else int(0.04 / once) + 1

    def seconds(self, calls):
        start = time.perf_counter()
        for _ in range(calls):
            self.run()
        return (time.perf_counter() - start) / calls

    def round(self):
        return self.seconds(self.calls) / self.units


class Clock:
    """A time that is given."""

    def prepare(self, seconds, dtype, threads):
        self.given = seconds

    def round(self):
        return self.given


class Program:
    """benchmark_beside, in a process of its own."""

    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise Failure(f"benchmark_beside: {answer or 'it has ended'}")
        return answer

    def prepare(self, name, dtype, threads):
        self.ask(f"prepare {name} {dtype} {threads}")

    def round(self):
        return float(self.ask("round"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def duration(seconds):
    for unit in ("s", "ms", "us", "ns"):
        if seconds >= 1 or unit == "ns":
            return f"{seconds:.3g} {unit}"
        seconds *= 1000


def verdict(goal, *ratios):
    """Whether both the fastest rounds and the median reach it."""
    if goal is None:
        return ""
    reached = [ratio >= goal for ratio in ratios]
    return f"{goal:5.2f} {'met' if all(reached) else 'perhaps' if any(reached) else 'MISSED'}"


def rounds_of(sides, options):
    """Seconds of both, in turns."""
    rounds = []
    end = time.monotonic() + (10 if options.quick else math.inf)
    while len(rounds) < options.rounds and not (rounds and time.monotonic() > end):
        rounds.append([side.round() for side in sides])
    return rounds


def compare(row, dtype, threads, options):
    ours, whose, theirs, goal = row
    head = f"{ours:30} {whose + (' ' + theirs.split()[1] if ' ' in str(theirs) else ''):16} {dtype} {threads:7d}"
    rival = Torch() if whose == "PyTorch" else Clock() if whose.endswith(" ns") else Program(options.program)
    sides = [Program(options.program), rival]
    try:
        sides[0].prepare(ours, dtype, threads)
        sides[1].prepare(theirs, dtype, threads)
        rounds = rounds_of(sides, options)
    except Failure as failure:
        print(f"{head}   skipped: {failure}", flush=True)
        return
    finally:
        for side in sides:
            if isinstance(side, Program):
                side.close()
    ratios = sorted(rival / own for own, rival in rounds)
    own, rival = (min(column) for column in zip(*rounds))
    median = statistics.median(ratios)
    print(f"{head} {rival / own:8.2f} {median:7.2f} {ratios[0]:6.2f} {ratios[-1]:6.2f}   "
          f"{verdict(goal, rival / own, median):13}   {duration(own)} and {duration(rival)}", flush=True)


def peak_in_torch(name, dtype, threads):
    """By how many bytes this process has to grow to run it once."""
    torch.set_num_threads(threads)
    run = PYTORCH[name](DTYPES[dtype])
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the most starts afresh
    before = memory("VmRSS")
    run()
    return memory("VmHWM") - before


WIDEST = re.compile("SkylakeX|Cooperlake|SapphireRapids")  # OpenBLAS's kernels for 512 bits


def blas_of(path):
    program = Program(path)
    try:
        return program.ask("blas")
    finally:
        program.close()


def memory(which):
    """Of this process, as Linux tells it, in bytes: VmRSS, or VmHWM, the most there was."""
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(which + ":"))


def compare_memory(name, dtype, threads, options):
    """Beyond the output and the gradients, at the most 5 % of a matrix of all pairs of tokens."""
    program = Program(options.program)
    program.ask(f"hold {name} {dtype} {threads}")
    ours = float(program.ask("peak"))
    program.close()
    command = [sys.executable, __file__, options.program, "--peak", name, "--dtype", dtype, "--threads", str(threads)]
    theirs = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    size = torch.finfo(DTYPES[dtype]).bits // 8
    goal = (4 * 4 * 4096 * 64 + 0.05 * 4096**2) * size
    print(f"{name + ' memory':30} {'PyTorch':16} {dtype} {threads:7d} {theirs / max(ours, 1):8.2f}{'':26}"
          f"{goal / 1e6:2.0f} MB {'met' if ours <= goal else 'MISSED'}   {ours / 1e6:.0f} MB and {theirs / 1e6:.0f} MB more at "
          f"the peak", flush=True)


def parse():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("program")
    parser.add_argument("--only", default="*")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--blas-core")
    parser.add_argument("--dtype", choices=list(DTYPES))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--peak")
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 3 if options.quick else 7
    if options.quick:
        options.dtype, options.threads = options.dtype or "float32", options.threads or 1
    if options.rounds < 1 or options.threads is not None and options.threads < 1:
        parser.error("--rounds and --threads take numbers from 1 on")
    return options


def main():
    options = parse()
    if options.peak:
        print(peak_in_torch(options.peak, options.dtype, options.threads))
        return 0
    if options.blas_core:
        os.environ["OPENBLAS_CORETYPE"] = options.blas_core
    PYTORCH.update(demo_in_pytorch.works(options.program))
    blas = blas_of(options.program)
    fill_table(narrow_blas=torch.backends.cpu.get_cpu_capability() == "AVX512" and not WIDEST.search(blas))
    pattern = options.only if "*" in options.only else f"*{options.only}*"
    rows = [row for row in ROWS if fnmatch.fnmatch(row[0], pattern)]
    if not rows:
        print(f"compare-speed-with-pytorch: no work is called {options.only}; --list names them", file=sys.stderr)
        return 2
    if options.list:
        for name in dict.fromkeys(row[0] for row in rows):
            print(name)
        return 0
    warnings.filterwarnings("ignore")
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}; regard with {blas}; {options.rounds} "
          f"rounds in turns\nTheir time over regard's, above 1: regard is faster. fastest: of the fastest rounds; median, "
          f"least, most: of the ratios of all rounds.\ngoal: what these are to reach; perhaps: one of fastest and median does."
          f"\n{'work':30} {'beside':16} {'dtype':7} threads  fastest  median  least   most    goal           fastest round")
    for row in rows:
        for dtype in [options.dtype] if options.dtype else DTYPES:
            for threads in [options.threads] if options.threads else (1, 2):
                compare(row, dtype, threads, options)
    if any(row[0] == "attention_4096" for row in rows):
        for dtype in [options.dtype] if options.dtype else DTYPES:
            compare_memory("attention_4096", dtype, options.threads or 1, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())

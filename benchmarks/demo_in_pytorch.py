"""The demo's models in PyTorch: a step of training, and 8 whole runs, from data that benchmark_beside writes."""
import json
import math
import multiprocessing
import pathlib
import struct
import subprocess
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

STEPS = ("agreement_raw", "twist_clause", "twist_two_layer")  # names of works
RUNS = ("demo_8_seeds", "demo_8_seeds_agreement_raw", "demo_8_seeds_twist_clause")
NUMBERS, WINDOW = 8, 3  # referent numbers, and how far the first of two layers sees
BATCH, EVERY, SAMPLE, EVALUATED = 32, 10, 200, 250  # of train_coreference: a batch, a frame of the film and what it is
                                                    # measured on, a batch when only evaluating


def written(program, work, dtype):
    """What benchmark_beside writes about a work: {name: tensor}, with a dict for each part of a name."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "data")
        subprocess.run([program, "--write", work, dtype, path], check=True)
        data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    dtypes = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64}
    tree = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        numbers = torch.frombuffer(bytearray(data[8 + size + first:8 + size + last]), dtype=dtypes[entry["dtype"]])
        *path, leaf = name.split(".") if "start" not in name else split_at_start(name)
        at = tree
        for part in path:
            at = at.setdefault(part, {})
        at[leaf] = numbers.reshape(entry["shape"])
    return tree


def split_at_start(name):
    """Names of parameters stay whole."""
    before, after = name.split("start.")
    return [*before.split(".")[:-1], "start", after]


class Demo(nn.Module):
    """Model of examples/coreference/model.hpp, with the default settings of each kind."""

    def __init__(self, start):
        super().__init__()
        for name, value in start.items():
            setattr(self, name.replace(".", "_"), nn.Parameter(value.clone()))
        self.two_layers = "layer2.query" in start

    def attend(self, layer, asking, asked, giving, keep):
        w_q, w_k, w_v = (getattr(self, f"layer{layer}_{which}") for which in ("query", "key", "value"))
        q, k, v = asking @ w_q, asked @ w_k, giving @ w_v
        scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~keep, torch.finfo(q.dtype).min)  # rows of padding see nothing
        weights = torch.softmax(scores, -1)
        return weights @ v, weights

    def forward(self, batch):
        """-> logits [batch, NUMBERS], attention of the last layer [batch, queries, length]"""
        length = batch["tokens"].shape[1]
        places = torch.arange(length)
        numbers = F.embedding(batch["referents"], F.pad(self.embedding_referent, (0, 0, 1, 0)))
        x = F.embedding(batch["tokens"], self.embedding_word) + numbers + self.embedding_position[:length]
        keep = (places < batch["lengths"][:, None])[:, None]
        if "clause" in batch:
            out, weights = self.attend(1, batch["clause"] @ x, x, numbers, keep)
            return self.logits(out[:, 0]), weights
        if self.two_layers:
            near = (places[:, None] - places).abs() <= WINDOW
            x = x + self.attend(1, x, x, x, keep & near)[0]
        out, weights = self.attend(2 if self.two_layers else 1, x, x, numbers, keep)
        return self.logits(out[torch.arange(len(out)), batch["pronoun"]]), weights

    def logits(self, row):
        return row @ self.readout_weight + self.readout_bias


def batch_of(data, chosen, clause, dtype):
    """The sentences `chosen` (indices or a slice), without the padding that none of them needs."""
    batch = {name: values[chosen] for name, values in data.items()}
    length = int(batch["lengths"].max())
    for name in ("tokens", "referents", "candidates"):
        batch[name] = batch[name][:, :length]
    if clause:
        places, first, last = torch.arange(length), batch["pronoun"][:, None], batch["predicate"][:, None]
        inside = ((first <= places) & (places <= last)).to(dtype)
        batch["clause"] = (inside / inside.sum(1, keepdim=True))[:, None]
    return batch


def loss_of(model, batch):
    return F.cross_entropy(model(batch)[0], batch["target"])


def train(optimizer, loss_of, *inputs):
    loss = loss_of(*inputs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def query_rows(batch, weights):
    """The row of the one that asks. -> [batch, length]"""
    return weights[:, 0] if "clause" in batch else weights[torch.arange(len(weights)), batch["pronoun"]]


def measures(model, data, clause, dtype):
    """Means over a set of sentences: accuracy, that among the candidates, mass on the antecedent and on the others, share
    of sentences in which it has the most, entropy."""
    sums = torch.zeros(6, dtype=torch.float64)
    count = len(data["tokens"])
    for first in range(0, count, EVALUATED):
        batch = batch_of(data, slice(first, first + EVALUATED), clause, dtype)
        logits, weights = (x.double() for x in model(batch))
        weights, there = query_rows(batch, weights), batch["antecedent"][:, None]
        right = batch["referents"].gather(1, there) - 1
        others = batch["candidates"].bool().scatter(1, there, False)
        among = torch.zeros(len(logits), NUMBERS + 1).scatter(1, batch["referents"] * batch["candidates"], 1.0)[:, 1:].bool()
        mass = weights.gather(1, there)

        def largest(values, index):
            return (values.gather(1, index) > values.scatter(1, index, -math.inf).amax(1, keepdim=True)).sum()
        sums += torch.stack([largest(logits, right), largest(logits.masked_fill(~among, -math.inf), right), mass.sum(),
                             (weights * others).sum(), largest(weights, there), torch.special.entr(weights).sum()])
    return (sums / count).tolist()


def run(data, clause, dtype, steps=None):
    """What train_coreference does with one seed, its sentences drawn. -> logged losses, measures of the four sets"""
    model = Demo(data["start"])
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    training, validation = data["training"], data["validation"]
    sample = {name: values[:SAMPLE] for name, values in validation.items()}
    watched = data.get("watched") or {name: values[:2] for name, values in validation.items()}
    frames = []

    def watch(sentence):
        batch = batch_of(watched, slice(sentence, sentence + 1), clause, dtype)
        return batch, model(batch)[1]

    @torch.no_grad()
    def log(loss):
        frames.append((loss, measures(model, sample, clause, dtype), [watch(i)[1].tolist() for i in range(2)]))

    @torch.no_grad()
    def masses():
        for i in range(2):
            batch, weights = watch(i)
            yield query_rows(batch, weights)[0, batch["antecedent"]].item()

    with torch.no_grad():
        first_loss = loss_of(model, batch_of(sample, slice(None), clause, dtype)).item()
    before = list(masses()) if "watched" in data else []
    log(first_loss)
    since_log = []
    for step, chosen in enumerate(data["order"][:steps], 1):
        since_log.append(train(optimizer, loss_of, model, batch_of(training, chosen, clause, dtype)).item())
        if step % EVERY == 0:
            log(sum(since_log) / len(since_log))
            since_log = []
    with torch.no_grad():
        final = [measures(model, data[which], clause, dtype) for which in ("validation", "held_out", "long_1", "long_2")]
    after = list(masses()) if "watched" in data else []
    return [loss for loss, *_ in frames], final, before, after


# ---- works ----------------------------------------------------------------------------------------------------------

def expect_close(losses, expected, tolerance):
    worst = (torch.tensor(losses, dtype=torch.float64) - expected).abs().max()
    if not worst <= tolerance:
        raise RuntimeError(f"its losses differ from regard's by {worst:.1e}: this is not the same work")


def one_step(program, work, compiled=False):
    def prepare(dtype):
        data = written(program, work, "float32" if dtype == torch.float32 else "float64")
        model = Demo(data["start"])
        batch = batch_of(data["batch"], slice(None), "clause" in work, dtype)
        optimizer = torch.optim.Adam(model.parameters())
        of_model = torch.compile(lambda: loss_of(model, batch)) if compiled else lambda: loss_of(model, batch)
        losses = [train(optimizer, of_model).item() for _ in data["losses"]]
        expect_close(losses, data["losses"], 1e-4 if dtype == torch.float32 else 1e-9)
        return lambda: train(optimizer, of_model)
    return prepare


DATA = {}  # of a worker


def begin_worker(*data):
    torch.set_num_threads(1)
    DATA["all"] = data


def run_seed(seed):
    runs, clause, dtype = DATA["all"]
    return run(runs[seed], clause, dtype)


def whole_runs(program, work):
    """As many runs at a time as there are threads, in processes that have started before."""
    def prepare(dtype):
        runs = written(program, work, "float32" if dtype == torch.float32 else "float64")
        clause = "clause" in work
        alike = 20 if dtype == torch.float32 else None  # frames: later, roundings of float32 have grown in some runs
        pool = multiprocessing.get_context("spawn").Pool(torch.get_num_threads(), begin_worker, (runs, clause, dtype))

        def run_all():
            for seed, (losses, *_) in zip(runs, pool.map(run_seed, runs, chunksize=1)):
                expect_close(losses[:alike], runs[seed]["losses"][:alike], 1e-4)
        return run_all
    return prepare


def works(program):
    """{name: what prepares it}"""
    return {step: one_step(program, step) for step in STEPS} | {runs: whole_runs(program, runs) for runs in RUNS} | {
        step + " compiled": one_step(program, step, compiled=True) for step in STEPS}

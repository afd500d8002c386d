"""Writes pytorch.safetensors: what PyTorch makes of layers, losses and whole trainings, with every gradient, in float64.

Run by hand with torch 2.13.0; the tests read the file and need no Python. scripts/compare-with-pytorch runs it with
whatever torch is installed, and other seeds. Names and layouts are regard's: weights are [in, out], the transpose of
torch's, and classes are the last axis.

Tensors are called CASE.inputs.NAME, CASE.output and CASE.gradients.NAME (of sum(seed·output), seed an input too), where
CASE counts from 0; names, operations and options stand as JSON in the metadata.
"""
import argparse
import json
import pathlib
import struct

import torch
import torch.nn.functional as F

INFINITY = float("inf")
DTYPES = {torch.float64: "F64", torch.int64: "I64", torch.bool: "BOOL"}


def save(path, tensors, metadata):
    """The safetensors format: length of the header, the header, the numbers; wide elements first."""
    header, blocks, offset = {"__metadata__": metadata}, [], 0
    for name, x in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        block = x.detach().contiguous().numpy().tobytes()
        header[name] = {"dtype": DTYPES[x.dtype], "shape": list(x.shape), "data_offsets": [offset, offset + len(block)]}
        offset += len(block)
        blocks.append(block)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


class Cases:
    def __init__(self):
        self.listed, self.tensors = [], {}

    def begin(self, name, op, options):
        self.listed.append({"name": name, "op": op, "options": options})
        return f"{len(self.listed) - 1}."

    def add(self, name, op, f, inputs, constant=(), **options):
        """f gets `inputs` as a dictionary; all that are float and not named constant get a gradient."""
        at = self.begin(name, op, options)
        leaves = {n: x.detach().clone().requires_grad_(x.is_floating_point() and n not in constant)
                  for n, x in inputs.items()}
        output = f(leaves)
        seed = torch.randn_like(output)
        wanted = {n: x for n, x in leaves.items() if x.requires_grad}
        gradients = torch.autograd.grad(output, list(wanted.values()), seed)
        self.tensors[at + "output"] = output
        for n, x in [*leaves.items(), ("seed", seed)]:
            self.tensors[at + "inputs." + n] = x
        for n, dx in zip(wanted, gradients):
            self.tensors[at + "gradients." + n] = dx


# ---- attention -------------------------------------------------------------------------------------------------------

def visible(*shape):
    """A boolean mask, true where a query may see a key; every query sees one at least."""
    keep = torch.rand(*shape) > 0.4
    keep[..., 0] = True
    return keep


def attend(x, scale=None, causal=False, grouped=False):
    added = x.get("keep", x.get("bias"))
    return F.scaled_dot_product_attention(x["query"], x["key"], x["value"], attn_mask=added, is_causal=causal,
                                          scale=scale, enable_gqa=grouped)


def attentions(cases):
    def qkv(*leading, queries=3, keys=5, width=4, value_width=None, kv=None):
        kv = leading if kv is None else kv
        return {"query": torch.randn(*leading, queries, width), "key": torch.randn(*kv, keys, width),
                "value": torch.randn(*kv, keys, value_width or width)}

    def add(name, inputs, **options):
        cases.add("attention, " + name, "attention", lambda x: attend(x, **options), inputs, **options)

    add("two axes", qkv())
    add("three axes", qkv(2))
    add("four axes", qkv(2, 3))
    add("narrow values, scale", qkv(2, 2, value_width=2), scale=0.3)
    add("large scores", {n: 4 * x for n, x in qkv(1, 2).items()})
    add("one key", qkv(2, 1, keys=1))
    add("one query", qkv(2, 2, queries=1))
    add("boolean mask", {**qkv(2, 2), "keep": visible(2, 2, 3, 5)})
    add("boolean mask for all heads", {**qkv(2, 2), "keep": visible(2, 1, 3, 5)})
    add("boolean mask for all", {**qkv(2, 2), "keep": visible(3, 5)})
    add("boolean mask, three axes", {**qkv(2), "keep": visible(2, 3, 5)})
    empty = visible(2, 2, 3, 5)
    empty[0, 1, 2] = False
    empty[1, :, 0] = False
    add("queries that see nothing", {**qkv(2, 2), "keep": empty})
    add("bias", {**qkv(2, 2), "bias": torch.randn(2, 2, 3, 5)})
    add("bias for all", {**qkv(2, 2), "bias": torch.randn(3, 5)})
    add("bias that hides", {**qkv(2, 2), "bias": torch.randn(2, 2, 3, 5).masked_fill(~visible(2, 2, 3, 5), -INFINITY)})
    add("bias that hides all of a row", {**qkv(2, 2), "bias": torch.randn(2, 2, 3, 5).masked_fill(~empty, -INFINITY)})
    add("causal", qkv(2, 2, queries=4, keys=4), causal=True)
    add("causal, fewer queries than keys", qkv(2, 2, queries=3, keys=5), causal=True)
    add("causal, more queries than keys", qkv(2, 2, queries=5, keys=3), causal=True)
    add("grouped queries", qkv(2, 4, kv=(2, 2)), grouped=True)
    add("one head of keys, causal", qkv(2, 3, queries=4, keys=4, kv=(2, 1)), causal=True, grouped=True)
    add("grouped queries, boolean mask", {**qkv(2, 4, kv=(2, 2)), "keep": visible(2, 4, 3, 5)}, grouped=True)


def split_in_projection(x, part):
    return torch.cat([x[f"{n}.{part}"].T if part == "weight" else x[f"{n}.{part}"] for n in ("query", "key", "value")])


def multi_heads(cases):
    def add(name, heads, width=6, memory_width=None, bias=False, causal=False, lengths=None, keep=None, leading=(2,)):
        queries, keys = (4, 4) if causal else (3, 5)
        inputs = {"x": torch.randn(*leading, queries, width)}
        if not causal:
            inputs["memory"] = torch.randn(*leading, keys, memory_width or width)
        for n in ("query", "key", "value", "output"):
            rows = memory_width or width if n in ("key", "value") else width
            inputs[n + ".weight"] = 0.5 * torch.randn(rows, width)
            if bias:
                inputs[n + ".bias"] = 0.5 * torch.randn(width)
        if lengths is not None:
            inputs["lengths"] = torch.tensor(lengths)
        if keep is not None:
            inputs["keep"] = keep
        module = torch.nn.MultiheadAttention(width, heads, bias=bias, kdim=memory_width, vdim=memory_width,
                                             batch_first=True)

        def f(x):
            weights = {"out_proj.weight": x["output.weight"].T}
            if memory_width is None:
                weights["in_proj_weight"] = split_in_projection(x, "weight")
            else:
                weights.update({n[0] + "_proj_weight": x[n + ".weight"].T for n in ("query", "key", "value")})
            if bias:
                weights.update({"in_proj_bias": split_in_projection(x, "bias"), "out_proj.bias": x["output.bias"]})
            memory = x.get("memory", x["x"])
            hidden = torch.triu(torch.ones(queries, keys, dtype=torch.bool), 1) if causal else None
            padded = None if lengths is None else torch.arange(keys) >= x["lengths"][:, None]
            if keep is not None:  # [batch, heads, ..] here, [batch·heads, ..] there, and turned round
                hidden = ~x["keep"].flatten(0, 1)
            return torch.func.functional_call(
                module, weights, (x["x"], memory, memory),
                {"attn_mask": hidden, "key_padding_mask": padded, "need_weights": False})[0]

        cases.add("multi-head, " + name, "multi_head", f, inputs, heads=heads, causal=causal)

    add("causal", 2, causal=True)
    add("causal, bias", 3, causal=True, bias=True)
    add("cross", 2)
    add("cross, bias", 2, bias=True)
    add("cross, another width", 3, memory_width=4, bias=True)
    add("key padding", 2, lengths=[3, 5])
    add("key padding, causal, bias", 2, lengths=[2, 4], causal=True, bias=True)
    add("a mask for each head", 2, keep=visible(2, 2, 3, 5))
    add("no batch", 2, leading=(), bias=True)


# ---- layers and losses -----------------------------------------------------------------------------------------------

def layer_norms(cases):
    def add(name, shape, axes=1, epsilon=1e-5, affine=True, scale=1.0):
        inputs = {"x": scale * (torch.randn(shape) + 0.5)}
        if affine:
            inputs.update(gamma=torch.randn(shape[-axes:]), beta=torch.randn(shape[-axes:]))
        cases.add("layer norm, " + name, "layer_norm",
                  lambda x: F.layer_norm(x["x"], shape[-axes:], x.get("gamma"), x.get("beta"), epsilon),
                  inputs, axes=axes, epsilon=epsilon)

    add("affine", (2, 3, 5))
    add("not affine", (2, 3, 5), affine=False)
    add("two axes", (2, 3, 4), axes=2)
    add("three axes", (2, 3, 2, 2), axes=3)
    add("a row alone", (6,))
    add("large epsilon", (3, 5), epsilon=0.1)
    add("small numbers, small epsilon", (3, 5), epsilon=1e-12, scale=1e-4)


def cross_entropies(cases):
    ids = torch.tensor([[1, 4, 0], [3, 3, 2]])
    some = torch.tensor([[1, -100, 0], [3, 3, -100]])

    def add(name, targets=ids, weights=False, reduction="mean", smoothing=0.0, ignore=-100, scale=1.0):
        inputs = {"logits": scale * torch.randn(2, 3, 5)}
        if targets is None:
            inputs["targets"] = torch.randn(2, 3, 5).softmax(-1)
        else:
            inputs["targets"] = targets
        if weights:
            inputs["weights"] = torch.rand(5) + 0.5

        def f(x):
            last = x["targets"] if x["targets"].dtype == torch.int64 else x["targets"].movedim(-1, 1)
            return F.cross_entropy(x["logits"].movedim(-1, 1), last, x.get("weights"), reduction=reduction,
                                   ignore_index=ignore, label_smoothing=smoothing)

        cases.add("cross entropy, " + name, "cross_entropy", f, inputs, constant=("weights",), reduction=reduction,
                  smoothing=smoothing, ignore=ignore)

    add("mean")
    add("sum", reduction="sum")
    add("each", reduction="none")
    add("ignored rows", targets=some)
    add("an id ignored", ignore=3, reduction="none")
    add("label smoothing", smoothing=0.1)
    add("class weights", weights=True)
    add("class weights, each", weights=True, reduction="none")
    add("weights, smoothing, ignored rows", targets=some, weights=True, smoothing=0.2)
    add("weights, smoothing, ignored rows, sum", targets=some, weights=True, smoothing=0.2, reduction="sum")
    add("probabilities", targets=None)
    add("probabilities, weights, smoothing", targets=None, weights=True, smoothing=0.1, reduction="none")
    add("large logits", scale=200.0)


def small_layers(cases):
    ids = torch.tensor([[1, 4, 0, 4], [2, 2, 0, 1]])
    cases.add("embedding", "embedding", lambda x: F.embedding(x["ids"], x["weight"]),
              {"ids": ids, "weight": torch.randn(6, 3)})
    padded = torch.randn(6, 3)
    padded[0] = 0
    cases.add("embedding, padding", "embedding", lambda x: F.embedding(x["ids"], x["weight"], padding_idx=0),
              {"ids": ids, "weight": padded}, padding=0)
    wide = torch.cat([torch.linspace(-8, 8, 17), torch.tensor([-40.0, -1e-3, 1e-9, 40.0])])
    for form, theirs in (("exact", "none"), ("tanh", "tanh")):
        cases.add("gelu, " + form, "gelu", lambda x: F.gelu(x["x"], approximate=theirs), {"x": wide}, form=form)


# ---- a transformer that trains ---------------------------------------------------------------------------------------

class Transformer(torch.nn.Module):
    """Embedding and learned positions, two pre-norm blocks of torch's own, a last norm, logits."""

    def __init__(self, vocabulary, tokens, width, heads, hidden, tied):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.positions = torch.nn.Parameter(torch.randn(tokens, width))
        self.blocks = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(width, heads, hidden, dropout=0.0, activation="gelu", batch_first=True,
                                             norm_first=True) for _ in range(2))
        self.norm = torch.nn.LayerNorm(width)
        self.head = None if tied else torch.nn.Linear(width, vocabulary)
        for p in self.parameters():
            torch.nn.init.normal_(p, std=0.5)

    def forward(self, ids):
        tokens = ids.shape[1]
        future = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1)
        x = self.embedding(ids) + self.positions
        for block in self.blocks:
            x = block(x, src_mask=future)
        x = self.norm(x)
        return x @ self.embedding.weight.T if self.head is None else self.head(x)

    def numbers(self):
        """Every parameter as regard names and lays it out."""
        def linear(name, module):
            return {name + ".weight": module.weight.T, name + ".bias": module.bias}

        def norm(name, module):
            return {name + ".gamma": module.weight, name + ".beta": module.bias}

        found = {"embedding.weight": self.embedding.weight, "positions.weight": self.positions}
        for i, block in enumerate(self.blocks):
            at = f"blocks.{i}."
            attention = block.self_attn
            found |= norm(at + "attention_norm", block.norm1)
            for name, weight, bias in zip(("query", "key", "value"), attention.in_proj_weight.chunk(3),
                                          attention.in_proj_bias.chunk(3)):
                found |= {f"{at}attention.{name}.weight": weight.T, f"{at}attention.{name}.bias": bias}
            found |= linear(at + "attention.output", attention.out_proj) | norm(at + "mlp_norm", block.norm2)
            found |= linear(at + "hidden", block.linear1) | linear(at + "output", block.linear2)
        found |= norm("norm", self.norm)
        return found if self.head is None else found | linear("head", self.head)


def trainings(cases):
    def without_middle_third(gradient):
        kept = gradient.clone()
        kept[len(kept) // 3:2 * len(kept) // 3] = 0
        return kept

    def add(name, tied, steps=10, rate=0.01, epsilon=1e-5, heads=2):
        options = {"tied": tied, "rate": rate, "epsilon": epsilon, "heads": heads}
        at = cases.begin("transformer, " + name, "transformer", options)
        model = Transformer(vocabulary=7, tokens=5, width=4, heads=heads, hidden=8, tied=tied)
        for block in model.blocks:
            # The softmax does not see a bias of the keys: its gradient is rounding, which Adam would make steps of.
            block.self_attn.in_proj_bias.register_hook(without_middle_third)
        optimizer = torch.optim.Adam(model.parameters(), lr=rate, eps=epsilon)
        ids, targets = torch.randint(7, (3, 5)), torch.randint(7, (3, 5))
        losses, numbers = [], {n: [x.clone()] for n, x in model.numbers().items()}
        for _ in range(steps):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(ids).movedim(-1, 1), targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
            for n, x in model.numbers().items():
                numbers[n].append(x.clone())
        cases.tensors |= {at + "inputs.ids": ids, at + "inputs.targets": targets, at + "output": torch.stack(losses)}
        cases.tensors |= {f"{at}inputs.{n}": x[0] for n, x in numbers.items()}
        cases.tensors |= {f"{at}steps.{n}": torch.stack(x[1:]) for n, x in numbers.items()}

    add("ten steps of Adam", tied=False)
    add("tied logits, ten steps of Adam", tied=True)


def main():
    here = pathlib.Path(__file__)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default=here.with_suffix(".safetensors"), help="where to write (%(default)s)")
    parser.add_argument("--seed", type=int, default=7, help="of the random inputs (%(default)s)")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    cases = Cases()
    for family in (attentions, multi_heads, layer_norms, cross_entropies, small_layers, trainings):
        family(cases)
    save(arguments.output, cases.tensors,
         {"torch": torch.__version__.split("+")[0], "cases": json.dumps(cases.listed)})


if __name__ == "__main__":
    main()

"""Writes transformers.json: what torch.nn's transformers give, their gradients, and where 100 steps of Adam take them.

Run by hand with torch 2.13.0; the tests read the JSON and need no Python. Names and layouts are regard's: weights are
[in, out], the transpose of torch's. Numbers that go in are not stored: element i of the k-th tensor (parameters in
regard's order from 0, then x, memory, target) is 0.4 * cos(0.7 * i + k), plus 1 for the gammas of norms. The loss is
the mean of (output - target) squared.
"""
import json
import math
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
WIDTH, HEADS, HIDDEN, TOKENS, KEYS, BATCH = 4, 2, 5, 3, 4, 2


def number(shape, k, offset=0.0):
    count = math.prod(shape)
    return torch.tensor([offset + 0.4 * math.cos(0.7 * i + k) for i in range(count)]).reshape(shape)


class SwiGlu(torch.nn.Module):
    """Shazeer 2020, in the place of a layer's linear1; its activation is none then."""

    def __init__(self):
        super().__init__()
        self.hidden, self.gate = torch.nn.Linear(WIDTH, HIDDEN), torch.nn.Linear(WIDTH, HIDDEN)

    def forward(self, x):
        return F.silu(self.gate(x)) * self.hidden(x)


class AttentionAlone(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.self_attn = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)

    def forward(self, x, src_mask=None, src_key_padding_mask=None):
        return x + self.self_attn(x, x, x, attn_mask=src_mask, key_padding_mask=src_key_padding_mask)[0]


def block(decoder, before, activation, norm):
    if norm == "none":
        return AttentionAlone()
    kind = torch.nn.TransformerDecoderLayer if decoder else torch.nn.TransformerEncoderLayer
    layer = kind(WIDTH, HEADS, HIDDEN, dropout=0.0, activation="gelu" if activation == "gelu" else F.relu,
                 batch_first=True, norm_first=before)
    if activation == "swiglu":
        layer.linear1, layer.activation = SwiGlu(), torch.nn.Identity()
    if norm == "rms":
        layer.norm1, layer.norm2 = (torch.nn.RMSNorm(WIDTH, eps=1e-5) for _ in range(2))
    return layer


def named(blocks, last):
    """regard's names of all parameters in its order: name, parameter, rows of it (all if None), whether it is turned."""
    def norm(at, module):
        yield at + ".gamma", module.weight, None, False
        if getattr(module, "bias", None) is not None:
            yield at + ".beta", module.bias, None, False

    def linear(at, module):
        yield at + ".weight", module.weight, None, True
        yield at + ".bias", module.bias, None, False

    def attention(at, module):
        for i, part in enumerate(("query", "key", "value")):
            rows = slice(i * WIDTH, (i + 1) * WIDTH)
            yield f"{at}.{part}.weight", module.in_proj_weight, rows, True
            yield f"{at}.{part}.bias", module.in_proj_bias, rows, False
        yield from linear(at + ".output", module.out_proj)

    for i, layer in enumerate(blocks):
        at = f"blocks.{i}."
        if hasattr(layer, "norm1"):
            yield from norm(at + "attention_norm", layer.norm1)
        yield from attention(at + "attention", layer.self_attn)
        if hasattr(layer, "multihead_attn"):
            yield from norm(at + "cross_norm", layer.norm2)
            yield from attention(at + "cross_attention", layer.multihead_attn)
        if hasattr(layer, "linear2"):
            yield from norm(at + "feed_forward_norm", layer.norm3 if hasattr(layer, "norm3") else layer.norm2)
            if isinstance(layer.linear1, SwiGlu):
                yield from linear(at + "feed_forward.hidden", layer.linear1.hidden)
                yield from linear(at + "feed_forward.gate", layer.linear1.gate)
            else:
                yield from linear(at + "feed_forward.hidden", layer.linear1)
            yield from linear(at + "feed_forward.output", layer.linear2)
    if last is not None:
        yield from norm("norm", last)


def without_keys(gradient):
    kept = gradient.clone()
    kept[WIDTH:2 * WIDTH] = 0
    return kept


def run(layers, decoder=False, before=True, activation="gelu", norm="layer", causal=False, lengths=None):
    blocks = torch.nn.ModuleList(block(decoder, before, activation, norm) for _ in range(layers))
    last = None
    if before and norm != "none":
        last = torch.nn.RMSNorm(WIDTH, eps=1e-5) if norm == "rms" else torch.nn.LayerNorm(WIDTH)
    parameters = list(named(blocks, last))

    def part(x, rows, turned):
        x = x if rows is None else x[rows]
        return x.T if turned else x
    with torch.no_grad():
        for k, (name, p, rows, turned) in enumerate(parameters):
            target = part(p, rows, turned)
            target.copy_(number(target.shape, k, 1.0 if name.endswith("gamma") else 0.0))
    count = len(parameters)
    x = number((BATCH, TOKENS, WIDTH), count).requires_grad_()
    memory = number((BATCH, KEYS, WIDTH), count + 1).requires_grad_()
    target = number((BATCH, TOKENS, WIDTH), count + 2)
    future = torch.triu(torch.ones(TOKENS, TOKENS, dtype=torch.bool), 1)
    hidden = None
    if lengths is not None:
        hidden = torch.arange(KEYS if decoder else TOKENS)[None, :] >= torch.tensor(lengths)[:, None]

    def model():
        y = x
        for layer in blocks:
            if decoder:
                y = layer(y, memory, tgt_mask=future, memory_key_padding_mask=hidden)
            else:
                y = layer(y, src_mask=future if causal else None, src_key_padding_mask=hidden)
        return y if last is None else last(y)

    def loss_of(y):
        return ((y - target) ** 2).mean()

    output = model()
    loss_of(output).backward()
    gradients = {name: part(p.grad, rows, turned).flatten().tolist() for name, p, rows, turned in parameters}
    gradients["x"] = x.grad.flatten().tolist()
    if decoder:
        gradients["memory"] = memory.grad.flatten().tolist()

    # The softmax does not see a bias of the keys: its gradient is rounding, which Adam would make steps of.
    everything = list({id(p): p for _, p, _, _ in parameters}.values())
    for _, p, rows, turned in parameters:
        if rows is not None and not turned and rows.start == 0:
            p.register_hook(without_keys)
    optimizer = torch.optim.Adam(everything, lr=0.01)
    for _ in range(100):
        optimizer.zero_grad()
        loss = loss_of(model())
        loss.backward()
        optimizer.step()
    return {
        "layers": layers, "decoder": decoder, "before": before, "activation": activation, "norm": norm, "causal": causal,
        "lengths": lengths, "output": output.flatten().tolist(), "gradients": gradients, "loss": loss.item(),
        "trained": {name: part(p.detach(), rows, turned).flatten().tolist() for name, p, rows, turned in parameters},
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    path = pathlib.Path(__file__).with_suffix(".json")
    cases = {
        "encoder, norms before": run(2, causal=True),
        "encoder, norms after": run(1, before=False, activation="relu", lengths=[2, 3]),
        "decoder, norms before": run(1, decoder=True, lengths=[3, 4]),
        "decoder, norms after": run(2, decoder=True, before=False, activation="relu"),
        "root mean square, SwiGLU": run(1, activation="swiglu", norm="rms", causal=True),
        "attention alone": run(2, norm="none", causal=True),
    }
    document = {"torch": torch.__version__.split("+")[0], "cases": cases}
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n")

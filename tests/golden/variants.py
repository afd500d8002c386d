"""Writes variants.json: attention with other normalisers, capped scores, ALiBi, and T5's buckets, computed by PyTorch."""
import json
import math
import pathlib

import torch

torch.manual_seed(20)
torch.set_default_dtype(torch.float64)


def flat(x):
    return {"shape": list(x.shape), "values": x.detach().flatten().tolist()}


def softmax1(s):
    return torch.softmax(torch.cat([s, torch.zeros(*s.shape[:-1], 1)], -1), -1)[..., :-1]


def visible(s):
    return torch.isfinite(s).sum(-1, keepdim=True).clamp(min=1)


def projection(s, alpha):
    """alpha-entmax: the support and threshold by a search over sorted prefixes, the gradient by autograd through it."""
    z, _ = torch.sort(s * (alpha - 1), descending=True)
    lines = []
    for line, top in zip((s * (alpha - 1)).reshape(-1, s.shape[-1]), z.reshape(-1, s.shape[-1])):
        best = None
        for k in range(1, int(torch.isfinite(top).sum()) + 1):
            head = top[:k]
            if alpha == 2:
                tau = (head.sum() - 1) / k
            else:
                mean = head.mean()
                rest = 1 - ((head - mean) ** 2).sum()
                if rest < 0:
                    break
                tau = mean - torch.sqrt(rest / k)
            if tau < top[k - 1]:
                best = tau
        above = torch.clamp(torch.where(torch.isfinite(line), line, torch.zeros(())) - best, min=0)
        lines.append(torch.where(torch.isfinite(line), above, torch.zeros(())) ** (1 / (alpha - 1)))
    return torch.stack(lines).reshape(s.shape)


normalisers = {
    "softmax": lambda s: torch.softmax(s, -1),
    "softmax1": softmax1,
    "sigmoid": lambda s: torch.sigmoid(s - torch.log(visible(s))),
    "relu": lambda s: torch.relu(s) / visible(s),
    "sparsemax": lambda s: projection(s, 2),
    "entmax15": lambda s: projection(s, 1.5),
}


def slopes(heads):
    """The paper's rule."""
    def of_power(n):
        start = 2 ** (-2 ** -(math.log2(n) - 3))
        return [start * start ** i for i in range(n)]
    if math.log2(heads).is_integer():
        return of_power(heads)
    power = 2 ** math.floor(math.log2(heads))
    return of_power(power) + slopes(2 * power)[0::2][:heads - power]


def attend(normaliser, heads=2, causal=False, cap=None, alibi=False, tokens=5):
    q, k = (torch.randn(2, heads, tokens, 3, requires_grad=True) for _ in range(2))
    v = torch.randn(2, heads, tokens, 4, requires_grad=True)
    s = q @ k.transpose(-1, -2) / math.sqrt(3)
    if cap:
        s = cap * torch.tanh(s / cap)
    if alibi:
        places = torch.arange(tokens)
        s = s - torch.tensor(slopes(heads))[:, None, None] * (places[:, None] - places[None]).abs()
    if causal:
        s = s.masked_fill(torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1), -math.inf)
    output = normalisers[normaliser](s) @ v
    if normaliser == "softmax" and not cap and alibi and causal:  # and PyTorch's own attention says the same
        bias = -torch.tensor(slopes(heads))[:, None, None] * (places[:, None] - places[None]).abs()
        bias = bias.masked_fill(torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1), -math.inf)
        other = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        assert torch.allclose(output, other, rtol=1e-12, atol=1e-13)
    upstream = torch.randn_like(output)
    output.backward(upstream)
    return {"normaliser": normaliser, "causal": causal, "softcap": cap or 0, "alibi": alibi,
            **{n: flat(x) for n, x in (("query", q), ("key", k), ("value", v), ("upstream", upstream), ("output", output),
                                       ("dquery", q.grad), ("dkey", k.grad), ("dvalue", v.grad))}}


def bucket(relative, bidirectional, buckets, max_distance):
    """T5's rule, in PyTorch's float32, as its code computes it."""
    found = 0
    if bidirectional:
        buckets //= 2
        found = (relative > 0).to(torch.long) * buckets
        relative = relative.abs()
    else:
        relative = -torch.min(relative, torch.zeros_like(relative))
    exact = buckets // 2
    far = exact + (torch.log(relative.float() / exact) / math.log(max_distance / exact) * (buckets - exact)).to(torch.long)
    far = torch.min(far, torch.full_like(far, buckets - 1))
    return found + torch.where(relative < exact, relative, far)


def linear_attention(causal):
    """Katharopoulos et al. 2020 as the masked quadratic form."""
    q, k = (torch.randn(2, 2, 5, 3, requires_grad=True) for _ in range(2))
    v = torch.randn(2, 2, 5, 4, requires_grad=True)
    w = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).transpose(-1, -2)
    if causal:
        w = torch.tril(w)
    output = w / w.sum(-1, keepdim=True) @ v
    upstream = torch.randn_like(output)
    output.backward(upstream)
    return {"causal": causal,
            **{n: flat(x) for n, x in (("query", q), ("key", k), ("value", v), ("upstream", upstream), ("output", output),
                                       ("dquery", q.grad), ("dkey", k.grad), ("dvalue", v.grad))}}


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".json")
    attention = [attend(n, causal=c) for n in normalisers for c in (False, True)]
    attention += [attend("softmax", causal=True, cap=0.9), attend("entmax15", cap=0.9)]
    attention += [attend("softmax", heads=h, causal=c, alibi=True) for h, c in ((4, True), (3, True), (6, False))]
    distances = torch.arange(-700, 701)
    buckets = [{"causal": not both, "buckets": n, "max_distance": m, "first": -700,
                "values": bucket(distances, both, n, m).tolist()}
               for both, n, m in ((True, 32, 128), (False, 32, 128), (True, 8, 20), (False, 16, 600), (True, 64, 512))]
    document = {"torch": torch.__version__.split("+")[0], "attention": attention,
                "slopes": {str(h): slopes(h) for h in (1, 2, 3, 5, 8, 12, 16, 20)}, "buckets": buckets,
                "linear": [linear_attention(c) for c in (False, True)]}
    path.write_text(json.dumps(document) + "\n")

"""Writes multi_head.json: torch.nn.MultiheadAttention and a grouped, causal attention, with every gradient, in float64.

Run by hand with torch 2.13.0; the tests read the JSON and need no Python. Weights are as regard has them: [in, out],
the transpose of torch's.
"""
import json
import pathlib

import torch

torch.manual_seed(7)
torch.set_default_dtype(torch.float64)


def flat(x):
    return {"shape": list(x.shape), "values": x.detach().flatten().tolist()}


def from_torch_module(width, heads, key_width, value_width, causal, bias):
    """Cross-attention (or causal self-attention) through torch.nn.MultiheadAttention."""
    module = torch.nn.MultiheadAttention(width, heads, kdim=key_width, vdim=value_width, batch_first=True, bias=bias)
    for p in module.parameters():
        torch.nn.init.normal_(p, std=0.5)
    queries, keys = (4, 4) if causal else (3, 5)
    query = torch.randn(2, queries, width, requires_grad=True)
    memory = query if causal else torch.randn(2, keys, width, requires_grad=True)
    mask = torch.triu(torch.ones(queries, keys, dtype=torch.bool), 1) if causal else None
    output, weights = module(query, memory, memory, attn_mask=mask, need_weights=True, average_attn_weights=False)
    seed = torch.randn_like(output)
    output.backward(seed)
    if module.in_proj_weight is not None:
        wq, wk, wv = (w.T for w in module.in_proj_weight.chunk(3))
        dq, dk, dv = (w.T for w in module.in_proj_weight.grad.chunk(3))
    else:
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        wq, wk, wv = (getattr(module, n).T for n in names)
        dq, dk, dv = (getattr(module, n).grad.T for n in names)
    case = {
        "heads": heads, "kv_heads": heads, "causal": causal, "query_input": flat(query), "memory": flat(memory),
        "seed": flat(seed), "output": flat(output), "weights": flat(weights),
        "parameters": {"query.weight": flat(wq), "key.weight": flat(wk), "value.weight": flat(wv),
                       "output.weight": flat(module.out_proj.weight.T)},
        "gradients": {"query.weight": flat(dq), "key.weight": flat(dk), "value.weight": flat(dv),
                      "output.weight": flat(module.out_proj.weight.grad.T), "query_input": flat(query.grad)},
    }
    if not causal:
        case["gradients"]["memory"] = flat(memory.grad)
    if bias:
        for name, part, grad in zip(("query", "key", "value"), module.in_proj_bias.chunk(3),
                                    module.in_proj_bias.grad.chunk(3)):
            case["parameters"][name + ".bias"] = flat(part)
            case["gradients"][name + ".bias"] = flat(grad)
        case["parameters"]["output.bias"] = flat(module.out_proj.bias)
        case["gradients"]["output.bias"] = flat(module.out_proj.bias.grad)
    return case


def grouped(width, heads, kv_heads, key_width, value_width, tokens):
    """Causal self-attention with fewer key and value heads, and free widths, through scaled_dot_product_attention."""
    def weight(rows, columns):
        return (0.5 * torch.randn(rows, columns)).requires_grad_()
    w = {"query.weight": weight(width, heads * key_width), "key.weight": weight(width, kv_heads * key_width),
         "value.weight": weight(width, kv_heads * value_width), "output.weight": weight(heads * value_width, width)}
    x = torch.randn(2, tokens, width, requires_grad=True)

    def split(y, count):
        return y.reshape(2, tokens, count, -1).transpose(1, 2)
    q, k, v = (split(x @ w[n + ".weight"], c) for n, c in (("query", heads), ("key", kv_heads), ("value", kv_heads)))
    k, v = (y.repeat_interleave(heads // kv_heads, dim=1) for y in (k, v))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    output = mixed.transpose(1, 2).reshape(2, tokens, -1) @ w["output.weight"]
    seed = torch.randn_like(output)
    output.backward(seed)
    return {"heads": heads, "kv_heads": kv_heads, "causal": True, "query_input": flat(x), "memory": flat(x),
            "seed": flat(seed), "output": flat(output), "parameters": {n: flat(p) for n, p in w.items()},
            "gradients": {**{n: flat(p.grad) for n, p in w.items()}, "query_input": flat(x.grad)}}


if __name__ == "__main__":
    path = pathlib.Path(__file__).with_suffix(".json")
    cases = {
        "self, causal, bias": from_torch_module(6, 2, None, None, causal=True, bias=True),
        "cross": from_torch_module(6, 3, None, None, causal=False, bias=False),
        "grouped, free widths": grouped(6, 4, 2, 3, 2, tokens=4),
    }
    document = {"torch": torch.__version__.split("+")[0], "cases": cases}
    path.write_text(json.dumps(document) + "\n")

"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Block

from lab.transformer_block import project
from lab.transformer_block import project_solution as solution
from mathlm.reference import gelu


def block_with(
    norm=solution.layer_norm, activation=solution.gelu_tanh, attend=solution.attention,
    reads=lambda x, u: u, adds=lambda x, u: u, first="ln_1", second="ln_2",
):  # fmt: skip
    """The solution with one of its parts changed."""

    def block(x, weights, n_heads):
        at = lambda name: (weights[f"{name}.weight"], weights[f"{name}.bias"])  # noqa: E731
        u = x + attend(norm(x, *at(first)), at("attn.c_attn"), at("attn.c_proj"), n_heads)
        h = norm(reads(x, u), *at(second))
        hidden = activation(solution.linear(h, *at("mlp.c_fc")))
        return adds(x, u) + solution.linear(hidden, *at("mlp.c_proj"))

    return block


def norm_with(root=lambda c: np.sqrt((c**2).mean(-1, keepdims=True) + 1e-5), axis=-1, gain=1):
    def norm(x, gamma, beta):
        c = x - x.mean(axis, keepdims=True)
        return (gamma if gain else 1) * c / root(c) + beta

    return norm


def attention_with(mask=True, width=None, order=(0, 1, 2), heads=None, mix=False, turn=False):
    def attend(h, fused, out, n_heads):
        n_heads = heads or n_heads
        T, D = h.shape
        parts = np.split(solution.linear(h, *fused), 3, axis=1)
        q, k, v = (parts[i] for i in order)
        shape = (n_heads, T, D // n_heads)
        cut = lambda m: (  # noqa: E731
            m.reshape(shape) if mix else m.reshape(T, n_heads, -1).transpose(1, 0, 2)
        )
        scores = cut(q) @ cut(k).mT / np.sqrt(width or D // n_heads)
        if mask:
            scores = np.where(np.tril(np.ones((T, T), dtype=bool)), scores, -np.inf)
        powers = np.exp(scores)
        y = powers / powers.sum(-1, keepdims=True) @ cut(v)
        y = y.reshape(T, D) if mix else y.transpose(1, 0, 2).reshape(T, D)
        return y @ (out[0].T if turn else out[0]) + out[1]

    return attend


def post_norm(x, weights, n_heads):
    at = lambda name: (weights[f"{name}.weight"], weights[f"{name}.bias"])  # noqa: E731
    u = solution.layer_norm(
        x + solution.attention(x, at("attn.c_attn"), at("attn.c_proj"), n_heads), *at("ln_1")
    )
    hidden = solution.gelu_tanh(solution.linear(u, *at("mlp.c_fc")))
    return solution.layer_norm(u + solution.linear(hidden, *at("mlp.c_proj")), *at("ln_2"))


def in_place(x, weights, n_heads):
    y = solution.gpt2_block(x, weights, n_heads)
    x += 1
    return y


def transposed(x, weights, n_heads):
    return x @ weights["attn.c_attn.weight"].T


def misnamed(x, weights, n_heads):
    return weights["attn.W_q.weight"]


FAULTS = {
    "residual connections are missing": lambda x, w, h: 0 * x,
    "GPT-2 is pre-norm": post_norm,
    "in place": in_place,
    "it is the stream again": lambda x, w, h: x[0],
    "divides by D, not by D - 1": block_with(
        norm_with(lambda c: np.sqrt(c.var(-1, keepdims=True, ddof=1) + 1e-5))
    ),
    "ε stands under the root": block_with(norm_with(lambda c: c.std(-1, keepdims=True) + 1e-5)),
    "ε of GPT-2's LayerNorm is 1e-5": block_with(
        norm_with(lambda c: np.sqrt(c.var(-1, keepdims=True) + 1e-6))
    ),
    "must subtract the mean": block_with(
        lambda x, g, b: g * x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) + b
    ),
    "tanh approximation": block_with(activation=lambda z: gelu(z)[0]),
    "GELU, not ReLU": block_with(activation=lambda z: np.maximum(z, 0)),
    "activation between the two matrices is missing": block_with(activation=lambda z: z),
    "causal mask is missing": block_with(attend=attention_with(mask=False)),
    "not divided by the root": block_with(attend=attention_with(width=1)),
    "the width of a head, D / H": block_with(attend=attention_with(width=project.D)),
    "queries, keys, values, in this order": block_with(attend=attention_with(order=(1, 2, 0))),
    "all features are one head": block_with(attend=attention_with(heads=1)),
    "heads are cut in the wrong place": block_with(attend=attention_with(mix=True)),
    "a square matrix does not complain": block_with(attend=attention_with(turn=True)),
    "with 5 positions and 8 heads": block_with(attend=attention_with(heads=3)),
    "feed-forward network reads x": block_with(reads=lambda x, u: x),
    "the second sum must add to the stream": block_with(adds=lambda x, u: x),
    "ln_1 and ln_2 are exchanged": block_with(first="ln_2", second="ln_1"),
    "without a transpose": transposed,
    "names of the weights are ln_1.weight": misnamed,
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = project.grade(FAULTS[sentence])
    assert not report.passed
    with pytest.raises(AssertionError, match=sentence):
        raise AssertionError(" ".join(report.faults))


def test_the_solution_passes():
    report = project.grade(solution.gpt2_block)
    assert report.passed, report
    assert repr(report).endswith("7 of 7 tests passed")


def test_the_solution_is_the_block_of_transformers():
    weights = project.draw_weights(3)
    config = GPT2Config(n_embd=project.D, n_head=3, n_positions=16, attn_implementation="eager")
    peer = GPT2Block(config).double().eval()
    peer.load_state_dict({n: torch.tensor(w) for n, w in weights.items()}, strict=False)
    x = np.random.default_rng(0).normal(size=(9, project.D))
    hidden = torch.full((9, 9), torch.finfo(torch.float64).min).triu(1)[None, None]
    with torch.no_grad():
        theirs = peer(torch.tensor(x)[None], attention_mask=hidden)
    theirs = theirs[0] if isinstance(theirs, tuple) else theirs
    ours = solution.gpt2_block(x, weights, 3)
    assert_allclose(ours, theirs.reshape(9, -1).numpy(), rtol=1e-10, atol=1e-12)


def test_what_is_not_written_yet_is_said():
    def stub(x, weights, n_heads):
        raise NotImplementedError

    report = project.grade(stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 6

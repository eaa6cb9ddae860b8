import math

import numpy as np
import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import Adam, scale_start, width_groups
from mathlm.optim.width import EXPONENTS, width_role

BASE = 16


def gpt(width, **changes):
    torch.manual_seed(0)
    sizes = {"vocab_size": 24, "context": 8, "d_model": width, "n_layers": 2}
    sizes |= {"n_heads": width // 8, "norm": "rms", "tie_embeddings": False}
    return GPT(GPTConfig(**sizes | changes))


def test_each_parameter_has_the_role_of_its_growing_sides():
    roles = {name: width_role(name, p) for name, p in gpt(16).named_parameters()}
    assert roles["token_embedding.weight"] == roles["position.weight"] == "input"
    assert roles["blocks.0.attention.W_q.bias"] == roles["final_norm.gamma"] == "input"
    assert roles["blocks.1.feed_forward.W_out.weight"] == "hidden"
    assert roles["head.weight"] == "output"


def test_a_model_inside_another_has_the_same_roles():
    model = gpt(16)
    roles = {name: width_role(name, p) for name, p in model.named_parameters()}
    outer = nn.ModuleDict({"gpt": model})
    inside = {name: width_role(name, p) for name, p in outer.named_parameters()}
    assert inside == {f"gpt.{name}": role for name, role in roles.items()}
    assert (inside["gpt.head.weight"], inside["gpt.position.weight"]) == ("output", "input")


@pytest.mark.parametrize("kind", EXPONENTS)
def test_at_the_base_width_nothing_changes(kind):
    plain, scaled = gpt(16), scale_start(gpt(16), 1, kind)
    for a, b in zip(plain.parameters(), scaled.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=0)
    assert [g["lr"] for g in width_groups(scaled, 0.3, 1, kind)] == [0.3]


def test_four_times_the_width_halves_hidden_weights_and_quarters_the_head():
    """Table 3 of the paper: variance 1/fan_in of hidden weights, 1/fan_in² of the head."""
    plain, scaled = gpt(64), scale_start(gpt(64), 4)
    ratios = {
        name: (dict(scaled.named_parameters())[name].norm() / p.norm()).item()
        for name, p in plain.named_parameters()
        if p.ndim == 2
    }
    assert ratios.pop("head.weight") == pytest.approx(1 / 4)
    assert ratios.pop("token_embedding.weight") == ratios.pop("position.weight") == 1
    assert list(ratios.values()) == pytest.approx([1 / 2] * 12)


def test_four_times_the_width_quarters_the_rate_of_matrices_alone():
    model = gpt(64)
    rates = {p: g["lr"] for g in width_groups(model, 0.8, 4) for p in g["params"]}
    assert len(rates) == len(list(model.parameters()))
    for name, p in model.named_parameters():
        matrix = p.ndim == 2 and "embedding" not in name and "position" not in name
        assert rates[p] == pytest.approx(0.2 if matrix else 0.8)


def test_the_standard_way_has_one_rate():
    (group,) = width_groups(gpt(32), 0.1, 2, "standard")
    assert (group["lr"], group["lr_scale"]) == (0.1, 1.0)


@pytest.mark.parametrize("width", [16, 32, 128])
def test_one_step_moves_a_sum_over_the_width_as_far_at_every_width(width):
    """By hand: each of n entries moves by η·16/n, so their sum over inputs of 1 by 16 η."""
    head = nn.Linear(width, 1, bias=False)
    before = head(torch.ones(width)).item()
    optimizer = Adam(width_groups(head, 0.01, width / BASE))
    (-head(torch.ones(width))).sum().backward()
    optimizer.step()
    assert head(torch.ones(width)).item() - before == pytest.approx(0.16, rel=1e-6)


def moved(width, kind, steps=4):
    """Root mean square of what training changes in the logits and in the stream."""
    torch.set_default_dtype(torch.float32)
    model, ids = scale_start(gpt(width), width / BASE, kind), torch.arange(24).view(3, 8)
    optimizer = Adam(width_groups(model, 0.01, width / BASE, kind))
    reads = []
    for step in range(steps + 1):
        taps = {}
        logits = model(ids, taps=taps)
        if step in (0, steps):
            reads.append((logits.detach(), taps["blocks.1.resid_post"].detach()))
        optimizer.zero_grad()
        nn.functional.cross_entropy(logits.flatten(0, 1), ids.roll(-1).flatten()).backward()
        optimizer.step()
    return [(b - a).square().mean().sqrt().item() for a, b in zip(*reads, strict=True)]


def growth(kind):
    """Exponents of the width in both changes: slopes of straight lines through logarithms."""
    widths = [16, 64, 256]
    changes = np.log([moved(w, kind) for w in widths])
    return np.polyfit(np.log(widths), changes, 1)[0]


def test_activations_move_as_far_at_every_width_under_mup():
    assert np.abs(growth("mup")).max() < 0.2


def test_activations_move_farther_the_wider_the_model_under_the_standard_way():
    assert growth("standard").min() > 0.4


def test_what_has_no_answer_is_refused(unchecked):
    with pytest.raises(ConfigError, match="kind='ntk' must be one of 'standard', 'mup'"):
        scale_start(gpt(16), 2, "ntk")
    for factor in (0, -1, math.inf):
        with pytest.raises(ConfigError, match=f"factor={factor} must be positive"):
            width_groups(gpt(16), 0.1, factor)


def test_a_head_that_is_the_embedding_is_refused():
    with pytest.raises(ConfigError, match=r"token_embedding\.weight and head\.weight are one"):
        width_groups(gpt(16, tie_embeddings=True), 0.1, 2)

"""What few bits a weight cost, on a model of two layers."""

import json
import math

import pytest
import torch

from lab.fast_generation import quantization, quantization_study
from lab.fast_generation.quantization import compare, groups, predictions, rounded, rows
from mathlm import functional as F
from mathlm.models import GPT, GPTConfig

IDS = torch.arange(3 * 17).view(3, 17) * 5 % 30


@pytest.fixture
def model():
    config = GPTConfig(vocab_size=30, context=16, d_model=32, n_layers=2, n_heads=2)
    return GPT(config).eval()


def test_a_model_is_as_far_from_itself_as_its_own_surprise(model):
    found = compare(model, IDS, predictions(model, IDS))
    with torch.no_grad():
        loss = F.token_cross_entropy(model(IDS[:, :-1]), IDS[:, 1:]).mean().item()
    assert found["nats"] == pytest.approx(loss, rel=1e-12)
    assert found["perplexity"] == pytest.approx(math.exp(loss))
    assert (found["divergence"], found["agree"]) == (0, 1)


def test_the_divergence_is_that_of_the_definition(model):
    other = GPT(model.config).eval()
    exact = predictions(model, IDS)
    p, q = torch.cat(exact), torch.cat(predictions(other, IDS))
    expected = torch.nn.functional.kl_div(q, p, log_target=True, reduction="batchmean")
    found = compare(other, IDS, exact)
    assert found["divergence"] == pytest.approx(expected.item(), rel=1e-9)
    assert found["agree"] == (p.argmax(-1) == q.argmax(-1)).double().mean()


def test_matrices_are_rounded_and_nothing_else(model):
    copy, ratio = rounded(model, lambda name, w: w / 2)
    assert ratio == pytest.approx(10 * math.log10(4))
    for (name, p), q in zip(model.named_parameters(), copy.parameters(), strict=True):
        matrix = p.ndim == 2 and not name.startswith("position")
        assert torch.equal(q, p / 2 if matrix else p)


def test_outside_the_blocks_rules_keep_eight_bits(model):
    w = model.token_embedding.weight.detach()
    for rounded_ in (rows("token_embedding", w, 3), groups("token_embedding", w, 3)):
        assert torch.equal(rounded_, F.symmetric_levels(w, 8).values())
    assert len(groups("blocks.0", w[:1], 3, 16).unique()) <= 16
    assert len(rows("blocks.0", w[:1], 3).unique()) <= 7


def test_the_study_measures_every_width_matrix_and_layer(model, monkeypatch, tmp_path):
    load = lambda name, windows: (model, IDS, IDS[:, :-1])  # noqa: E731
    monkeypatch.setattr(quantization_study, "load", load)
    path = tmp_path / "record.json"
    quantization_study.main(["--models", "plays", "--windows", "3", "1", "--record", str(path)])
    found = json.loads(path.read_text())["models"]["plays"]
    assert list(found["widths"]) == sorted(
        ["32 bits", *quantization.widths(model, IDS[:, :-1])]
    )
    assert len(found["layers"]) == 2
    few, many = (found["widths"][f"{b} bits, rows"]["divergence"] for b in (4, 8))
    assert 0 < many < few
    assert found["kept"]["8 bits"]["nats"] == pytest.approx(
        found["widths"]["8 bits, rows"]["nats"], rel=1e-9
    )


def test_levels_are_counted_by_hand(model):
    for p in model.blocks.parameters():
        p.data = torch.arange(p.numel()).view(p.shape) % 5 / 8
    assert quantization_study.levels_in_groups(model) == 5

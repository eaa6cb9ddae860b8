"""Graphs of the circuit by hand: the edges are known, and a patched path is the truth."""

import pytest
import torch

from lab.interpretability import attribution_graph as graph
from lab.interpretability.induction import attention_only
from lab.interpretability.induction_by_hand import induction_by_hand
from lab.interpretability.induction_rows import InductionConfig
from mathlm.errors import InputError

CLEAN, CORRUPT = torch.tensor([[0, 3, 7, 4, 8, 3]]), torch.tensor([[0, 4, 7, 3, 8, 3]])
BY_HAND = {("token", "0.0.v"), ("0.0", "1.0.k"), ("1.0", "logits")}


def metric(logits):
    return logits[:, -1, 7] - logits[:, -1, 8]


@pytest.fixture
def hand():
    torch.set_default_dtype(torch.float64)
    yield induction_by_hand()
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def learned():
    """Random weights: nothing is sharp, and positions turn queries and keys."""
    torch.set_default_dtype(torch.float64)
    model = attention_only(InductionConfig(vocab_size=16, n_heads=2)).eval()
    yield model.requires_grad_(False)
    torch.set_default_dtype(torch.float32)


def whole(model):
    return float(metric(model(CLEAN)) - metric(model(CORRUPT)))


def test_patched_paths_are_the_circuit_that_was_written(hand):
    edges = list(graph.difference_edges(hand, CLEAN, CORRUPT, metric))
    found = graph.patched_edges(hand, CLEAN, CORRUPT, metric, edges)
    share = graph.shares(found, whole(hand))
    assert {e for e, x in share.items() if abs(x) > 0.01} == BY_HAND
    assert all(share[e] == pytest.approx(1, abs=0.01) for e in BY_HAND)


def test_a_mean_of_gradients_finds_it_and_one_gradient_does_not(hand):
    one, many = (
        graph.shares(graph.difference_edges(hand, CLEAN, CORRUPT, metric, n), whole(hand))
        for n in (1, 32)
    )
    assert {e for e, x in many.items() if abs(x) > 0.3} == BY_HAND
    assert {e for e, x in one.items() if abs(x) > 0.3} == {("1.0", "logits")}


@pytest.mark.parametrize("name", ["hand", "learned"])
def test_with_weights_and_norms_held_the_edges_into_the_logits_add_up(name, request):
    model = request.getfixturevalue(name)
    found = graph.direct_edges(model, CLEAN, metric)
    total = sum(x for (_, receiver), x in found.items() if receiver == "logits")
    assert total == pytest.approx(float(metric(model(CLEAN))), abs=1e-9)
    assert not any(x for (_, r), x in found.items() if r.endswith((".q", ".k")))


def test_held_edges_into_a_value_add_up_to_what_the_head_hands_on(learned):
    found = graph.direct_edges(learned, CLEAN, metric)
    for h in range(2):
        into = sum(x for (_, receiver), x in found.items() if receiver == f"1.{h}.v")
        assert into == pytest.approx(found[f"1.{h}", "logits"], abs=1e-9)


def test_an_estimate_is_the_slope_of_a_patched_path(learned):
    """A small change of the embeddings: the first order is all there is."""
    with torch.no_grad():
        weight = learned.token_embedding.weight
        weight[4] = weight[3] + 1e-7 * torch.randn(weight.shape[1])
        weight[8] = weight[7] + 1e-7 * torch.randn(weight.shape[1])
    guess = graph.difference_edges(learned, CLEAN, CORRUPT, metric)
    truth = graph.patched_edges(learned, CLEAN, CORRUPT, metric, list(guess))
    most = max(map(abs, truth.values()))
    assert most > 0
    for edge, x in truth.items():
        assert guess[edge] == pytest.approx(x, abs=1e-4 * most), edge


def test_no_steps_and_equal_runs_are_refused(hand):
    with pytest.raises(InputError, match="expected 1 or more"):
        graph.difference_edges(hand, CLEAN, CORRUPT, metric, 0)
    with pytest.raises(InputError, match="do not differ"):
        graph.shares({("token", "logits"): 1.0}, 0.0)

"""Which weights an encoder-decoder has, which of them are one, and how they start."""

import math

import pytest
import torch
from models.transformer_families import FAMILIES, SIZES, config_of, make, tokens

from mathlm.functional import cross_entropy
from mathlm.models import Transformer, TransformerConfig, load_weights
from mathlm.models.files.weights import (
    check_weights_fit,
    copy_weights,
    to_bytes,
    unique_tensors,
)

EVERY = pytest.mark.parametrize("family", FAMILIES)


@EVERY
def test_every_parameter_gets_a_gradient(family):
    model = make(family)
    model(tokens(4, 24), tokens(4, 24)).square().sum().backward()
    dead = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert [n for n in dead if not n.endswith("W_k.bias")] == []  # softmax takes shifts away


SHARED = {
    "none": set(),
    "inputs": {"target_embedding.weight"},
    "target": {"head.weight"},
    "all": {"target_embedding.weight", "head.weight"},
}


@pytest.mark.parametrize("tie", SHARED)
def test_a_shared_matrix_is_one_parameter_under_its_first_name(tie):
    model = make("2017", target_vocab_size=None, tie_embeddings=tie)
    names = {"source_embedding.weight", "target_embedding.weight", "head.weight"}
    assert names - {n for n, _ in model.named_parameters()} == SHARED[tie]
    places = {model.get_parameter(n).data_ptr() for n in names}
    assert len(places) == 3 - len(SHARED[tie])


@pytest.mark.parametrize("tie", SHARED)
def test_a_model_is_tied_as_before_after_saving_and_loading(tie, tmp_path):
    model, other = (make("2017", target_vocab_size=None, tie_embeddings=tie) for _ in "ab")
    (tmp_path / "model.safetensors").write_bytes(to_bytes(unique_tensors(model)))
    tensors = load_weights(tmp_path)
    assert sorted(tensors) == sorted(n for n, _ in model.named_parameters())
    check_weights_fit(other, tensors)
    copy_weights(other, tensors)
    source, target = tokens(2, 6), tokens(2, 5)
    assert torch.equal(other(source, target), model(source, target))
    assert len({p.data_ptr() for p in other.float().parameters()}) == len(tensors)


def test_the_gradient_of_a_shared_matrix_is_the_sum_over_its_uses():
    tied = make("tied", n_layers=1)
    free = Transformer(config_of("tied", n_layers=1, tie_embeddings="none")).eval()
    free.load_state_dict(tied.state_dict())
    source, target = tokens(2, 6), tokens(2, 5)
    for model in (tied, free):
        model(source, target).square().sum().backward()
    uses = (free.source_embedding, free.target_embedding, free.head)
    total = sum(part.weight.grad for part in uses)
    torch.testing.assert_close(tied.head.weight.grad, total, rtol=1e-10, atol=1e-12)


def test_parameters_have_the_names_of_the_reference():
    names = [n for n, _ in make("tied", n_layers=1).named_parameters()]
    part = ["weight", "bias"]
    maps = [f"W_{m}.{p}" for m in "qkvo" for p in part]
    halves = ["attention", "cross_attention"]
    expected = ["source_embedding.weight"]
    for stack, used in (("encoder", halves[:1]), ("decoder", halves)):
        for half in used:
            expected += [f"{stack}.0.{half}_norm.{p}" for p in ("gamma", "beta")]
            expected += [f"{stack}.0.{half}.{m}" for m in maps]
        expected += [f"{stack}.0.feed_forward_norm.{p}" for p in ("gamma", "beta")]
        expected += [f"{stack}.0.feed_forward.W_{m}.{p}" for m in ("in", "out") for p in part]
    assert names == expected


def test_maps_start_uniform_within_the_bounds_of_xavier():
    """√(6 / (fan in + fan out)): 1/4 for 48 + 48, √(6/240) for 48 + 192."""
    block = Transformer(config_of(d_model=48)).decoder[1]
    for layer, bound in (
        (block.cross_attention.W_k, 0.25),
        (block.feed_forward.W_out, math.sqrt(6 / 240)),
    ):
        assert 0.98 * bound < layer.weight.abs().max() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)
        assert (layer.bias == 0).all()


@pytest.mark.parametrize(
    ("changes", "std"),
    [
        ({}, 1 / 8),
        ({"tie_embeddings": "all"}, 1 / 8),
        ({"tie_embeddings": "all", "scale_embeddings": False}, 1 / 8),
        ({"scale_embeddings": False}, 1.0),
        ({"tie_embeddings": "all", "scale_embeddings": False, "scale_head": True}, 1.0),
    ],
)
def test_embeddings_start_so_that_stream_and_logits_are_near_one(changes, std):
    model = Transformer(
        TransformerConfig(**SIZES | {"vocab_size": 500, "d_model": 64} | changes)
    )
    for table in (model.source_embedding, model.target_embedding):
        assert table.weight.std().item() == pytest.approx(std, rel=0.02)
    logits = model(tokens(4, 20), tokens(4, 20))
    assert 0.3 < logits.std() < 3


def test_without_a_scale_of_attention_queries_start_smaller():
    scaled, plain = (
        Transformer(config_of("t5", attention_scale=scale)).decoder[0].cross_attention
        for scale in (True, False)
    )
    ratio = plain.W_q.weight.std() / scaled.W_q.weight.std()
    assert ratio.item() == pytest.approx(1 / math.sqrt(6), rel=0.1)
    assert plain.W_k.weight.std().item() == pytest.approx(
        scaled.W_k.weight.std().item(), rel=0.1
    )


@pytest.mark.parametrize("family", ["2017", "pre-norm", "t5", "t5 1.1"])
def test_thirty_steps_halve_the_loss(family):
    model, source, target = Transformer(config_of(family)), tokens(4, 8), tokens(4, 9)
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-2), []
    for _ in range(30):
        loss, count = cross_entropy(model(source, target[:, :-1]), target[:, 1:])
        optimizer.zero_grad()
        (loss / count).backward()
        optimizer.step()
        losses.append(loss.item() / count)
    assert losses[-1] < losses[0] / 2

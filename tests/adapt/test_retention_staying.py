"""The pull towards the start."""

import json

import pytest
import torch
from torch import nn
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer, weights

from mathlm.adapt import L2SP, freeze
from mathlm.errors import CheckpointMismatchError, ConfigError, InputError
from mathlm.train import describe, next_token


def moved(model, by=0.25):
    """Every trained weight a little away from where it was."""
    with torch.no_grad():
        for p in model.parameters():
            if p.requires_grad:
                p += by
    return model


def test_the_penalty_of_one_weight_by_hand():
    """A weight that went from 1 to 3, λ = 1/2 and 5 targets: 5 · (1/2) · 2² = 10, slope 10."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.ones_(model.weight)
    pulled = L2SP(lambda m, b: (0 * m.weight.sum(), 5), model, 0.5)
    nn.init.constant_(model.weight, 3.0)
    loss, count = pulled(model, {})
    loss.backward()
    assert (loss.item(), count, model.weight.grad.item()) == (10.0, 5, 10.0)


def test_at_the_start_loss_and_gradient_are_those_of_the_objective():
    model, batch = tiny_model(dropout=0.0), tiny_data()(0)
    pulled = L2SP(next_token, model, 0.7)
    own = torch.autograd.grad(pulled(model, batch)[0], model.parameters())
    plain = torch.autograd.grad(next_token(model, batch)[0], model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(own, plain, strict=True))


@pytest.mark.parametrize("parts", [2, 4])
def test_the_penalty_does_not_depend_on_the_split(parts):
    losses = []
    for n in (1, parts):
        model = tiny_model(dropout=0.0)
        pulled = L2SP(next_token, model, 0.3)
        trainer = tiny_trainer(moved(model), objective=pulled, micro_batches=n, clip=None)
        losses.append(trainer.accumulate_gradient(trainer.micro_batches()))
        losses.append(nn.utils.parameters_to_vector([p.grad for p in model.parameters()]))
    assert losses[0] == pytest.approx(losses[2], rel=1e-12)
    torch.testing.assert_close(losses[3], losses[1], rtol=1e-12, atol=1e-15)


def test_frozen_weights_are_neither_copied_nor_pulled():
    """Bias of the last layer alone: 11 numbers, each 1/4 away: 11/16."""
    model = freeze(tiny_model(), but=["4.bias"])
    pulled = L2SP(next_token, model, 1.0)
    assert pulled.distance(moved(model)).item() == pytest.approx(11 / 16, rel=1e-12)


def test_an_evaluation_counts_the_loss_alone():
    model = tiny_model()
    pulled = tiny_trainer(model, objective=L2SP(next_token, model, 9.0))
    pulled.held_out = tiny_data()
    moved(model)
    plain = tiny_trainer(model, held_out=tiny_data())
    assert pulled.evaluate() == plain.evaluate()


def test_a_strong_pull_leaves_the_weights_nearer_to_the_start():
    distances = []
    for weight in (0.0, 1.0):
        model = tiny_model()
        start = weights(model)
        tiny_trainer(model, objective=L2SP(next_token, model, weight), steps=20).fit()
        distances.append((weights(model) - start).norm().item())
    assert distances[1] < distances[0] / 3


def test_weights_of_16_bits_are_compared_in_32():
    """1 and its neighbor in bfloat16 differ by 2⁻⁷; the square 2⁻¹⁴ is exact in float32."""
    model = nn.Linear(1, 1, bias=False).bfloat16()
    nn.init.ones_(model.weight)
    pulled = L2SP(next_token, model, 1.0)
    nn.init.constant_(model.weight, 1 + 2**-7)
    distance = pulled.distance(model)
    assert (distance.dtype, distance.item()) == (torch.float32, 2**-14)


def test_a_run_is_resumed_with_the_same_start_only(tmp_path):
    def run(seed, weight=0.1, **options):
        model = tiny_model(seed)
        pulled = L2SP(next_token, model, weight)
        return tiny_trainer(model, objective=pulled, folder=tmp_path, **options)

    run(1, steps=3).fit()
    assert run(1).resume() == 3
    with pytest.raises(CheckpointMismatchError, match=r"objective.start_sha256 was"):
        run(2).resume()
    with pytest.raises(CheckpointMismatchError, match=r"objective.weight was 0.1, is 0.2"):
        run(1, 0.2).resume()


def test_a_resumed_run_equals_the_unbroken_one(tmp_path):
    def run(**options):
        model = tiny_model()
        return tiny_trainer(model, objective=L2SP(next_token, model, 0.2), **options)

    straight, again = run(), run(folder=tmp_path)
    straight.fit()
    run(folder=tmp_path, steps=3).fit()
    again.resume()
    again.fit()
    assert torch.equal(weights(again.model), weights(straight.model))


def test_it_says_what_it_is():
    said = describe(L2SP(next_token, tiny_model(), 0.1))
    assert (said["weight"], said["objective"]) == (0.1, "mathlm.train.next_token")
    assert len(json.dumps(said)) < 300


def test_other_trained_weights_than_at_the_start_are_refused():
    model = freeze(tiny_model(), but=["4"])
    pulled = L2SP(next_token, model, 0.1)
    with pytest.raises(InputError, match=r"1 parameters .* first 4.bias: make L2SP"):
        pulled(freeze(model, but=["4.weight"]).train(), tiny_data()(0))


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_a_weight_outside_its_range_is_refused(weight):
    with pytest.raises(ConfigError, match=rf"weight={weight} must be at least 0"):
        L2SP(next_token, tiny_model(), weight)


def test_a_frozen_model_is_refused():
    with pytest.raises(ConfigError, match="no parameter of the model is trained"):
        L2SP(next_token, freeze(tiny_model()), 0.1)

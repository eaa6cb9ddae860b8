"""Toy models of superposition against optima that are known exactly."""

import pytest
import torch

from lab.features import superposition
from mathlm.errors import InputError, InputTypeError, NonFiniteLossError
from mathlm.optim import Adam


def angles(n):
    turn = 2 * torch.pi * torch.arange(n) / n
    return torch.stack([turn.cos(), turn.sin()])  # (2, n)


def test_the_model_is_its_equation(rng):
    model = superposition.ToyModel(3, 2, models=2)
    x = torch.from_numpy(rng.uniform(size=(2, 4, 3)))
    with torch.no_grad():
        model.bias += 0.1
        for i, (W, b) in enumerate(zip(model.weight, model.bias, strict=True)):
            expected = torch.relu(x[i] @ W.T @ W + b)
            torch.testing.assert_close(model(x)[i], expected)


def test_a_linear_model_keeps_the_most_important_features_and_nothing_else():
    """Of the rest it tells the mean: left is Σ I (p/3 - p²/4), as of principal components."""
    density = torch.tensor([1.0, 0.3])
    importance = torch.tensor([4.0, 3.0, 1.0, 0.5])
    model = superposition.ToyModel(4, 2, models=2, rectified=False)
    loss = superposition.train_toy(model, density, importance, steps=400, lr=0.03)
    expected = 1.5 * (density / 3 - density.square() / 4)
    torch.testing.assert_close(loss, expected, rtol=0.02, atol=0)
    kept = torch.diag(torch.tensor([1.0, 1.0, 0.0, 0.0]))
    gram = superposition.interference(model.weight.detach())
    torch.testing.assert_close(gram, kept.expand(2, 4, 4), rtol=0, atol=0.03)


def test_rare_features_share_and_dense_ones_do_not():
    """Two features in one dimension: opposite far below the density 4/7, alone far above."""
    model = superposition.ToyModel(2, 1, models=8)
    density = torch.tensor([0.05] * 4 + [1.0] * 4)  # four starts for each
    loss = superposition.train_toy(model, density, torch.tensor([1.0, 0.7]), steps=400, lr=0.03)
    gram = superposition.interference(model.weight.detach())[:, 0, 1]
    rare, dense = loss[:4].argmin(), 4 + loss[4:].argmin()
    assert gram[rare] < -0.8
    assert loss[rare] < superposition.own_direction_loss(0.05, 0.7) / 5
    assert abs(gram[dense]) < 0.25


def test_the_two_losses_agree_with_sampled_models():
    x = superposition.sparse_features(
        200_000, 2, torch.tensor([0.4, 0.4]), torch.Generator().manual_seed(0)
    )
    model = superposition.ToyModel(2, 1, models=2)
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[[1.0, 0.0]], [[1.0, -1.0]]]))
        model.bias.copy_(torch.tensor([[0.0, 0.2], [0.0, 0.0]]))
        errors = (x - model(x)).square().mean(1) @ torch.tensor([1.0, 0.6])
    own = superposition.own_direction_loss(0.4, 0.6)
    shared = superposition.shared_direction_loss(0.4, 0.6)
    torch.testing.assert_close(errors, torch.tensor([own, shared]), rtol=0.02, atol=0)


@pytest.mark.parametrize("importance", [0.2, 1.0])
def test_at_the_threshold_sharing_costs_as_much(importance):
    p = superposition.sharing_threshold(importance)
    own = superposition.own_direction_loss(p, importance)
    assert own == pytest.approx(superposition.shared_direction_loss(p, importance), rel=1e-12)


def test_sparse_features_have_the_density_and_the_mean_that_are_promised():
    density = torch.tensor([0.1, 0.6])
    x = superposition.sparse_features(50_000, 2, density, torch.Generator().manual_seed(1))
    torch.testing.assert_close((x > 0).double().mean((1, 2)), density, rtol=0, atol=0.01)
    torch.testing.assert_close(x.mean((1, 2)), density / 2, rtol=0, atol=0.01)
    assert x.max() <= 1


@pytest.mark.parametrize(("n", "share"), [(2, 1 / 1), (3, 2 / 3), (5, 2 / 5)])
def test_regular_polygons_give_each_feature_its_share_of_the_plane(n, share):
    """Σⱼ cos² = n/2 for n ≥ 3 directions spread evenly; two at right angles have 1 each."""
    weight = angles(n) if n > 2 else torch.eye(2)
    torch.testing.assert_close(
        superposition.feature_dimensions(weight), torch.full((n,), share)
    )


def test_opposite_features_have_half_a_dimension_each_and_a_missing_one_none():
    weight = torch.tensor([[2.0, -2.0, 0.0]])
    assert superposition.feature_dimensions(weight).tolist() == [0.5, 0.5, 0.0]


def test_models_that_train_side_by_side_do_not_see_each_other():
    def trained(density):
        model = superposition.ToyModel(3, 2, models=2)
        superposition.train_toy(model, torch.tensor(density), torch.ones(3), steps=5)
        return model.weight.detach()

    one, other = trained([0.5, 0.2]), trained([0.5, 0.9])
    torch.testing.assert_close(one[0], other[0], rtol=0, atol=0)
    assert not torch.equal(one[1], other[1])


BAD = {
    "sizes": (lambda: superposition.ToyModel(0, 2), "n_features=0"),
    "density": (
        lambda: superposition.train_toy(
            superposition.ToyModel(2, 1), torch.tensor([0.0]), torch.ones(2)
        ),
        r"must be one number in \(0, 1\]",
    ),
    "importance": (
        lambda: superposition.train_toy(
            superposition.ToyModel(2, 1), torch.tensor([0.5]), torch.ones(3)
        ),
        r"importance \(3,\) must be positive, \(2,\) or \(1, 2\)",
    ),
    "no example": (
        lambda: superposition.train_toy(
            superposition.ToyModel(2, 1), torch.tensor([0.5]), torch.ones(2), batch=0
        ),
        "batch=0 must be 1 or more",
    ),
    "probability": (lambda: superposition.own_direction_loss(1.5), r"density=1\.5 must be in"),
    "weight": (lambda: superposition.sharing_threshold(0), "importance=0 positive"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_weights_without_numbers_have_no_dimensions_rather_than_zero():
    with pytest.raises(InputError, match=r"\(2, 3\) must be \(..., D, m\), and finite"):
        superposition.feature_dimensions(torch.full((2, 3), torch.nan))


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan")])
def test_densities_that_are_no_probabilities_are_refused(p):
    with pytest.raises(InputError, match="must be one number in"):
        superposition.sparse_features(5, 2, torch.tensor([0.5, p]), torch.Generator())


@pytest.mark.usefixtures("unchecked")
def test_features_and_tasks_of_another_kind_are_refused():
    model, one = superposition.ToyModel(2, 1), torch.ones(1)
    with pytest.raises(InputTypeError, match="density is a float"):
        superposition.train_toy(model, 0.5, torch.ones(2))
    with pytest.raises(InputTypeError, match="importance is a list"):
        superposition.train_toy(model, one, [1.0, 1.0])
    with pytest.raises(InputError, match="whole numbers, 1 or more"):
        superposition.ToyModel(2.5, 1)
    with pytest.raises(InputError, match="count=0"):
        superposition.sparse_features(0, 2, one, torch.Generator())
    for options in ({"lr": 0.0}, {"lr": float("nan")}, {"steps": 2.5}):
        with pytest.raises(InputError, match="positive and finite"):
            superposition.train_toy(model, one, torch.ones(2), **options)


def test_a_training_that_comes_to_no_number_is_an_error():
    model = superposition.ToyModel(2, 1)
    with pytest.raises(NonFiniteLossError, match=r"take less than lr=1e\+200"):
        superposition.train_toy(model, torch.ones(1), torch.ones(2), steps=1, batch=4, lr=1e200)


def test_the_step_size_falls_to_zero_along_half_a_cosine(monkeypatch):
    sizes = []

    class Noted(Adam):
        def step(self):
            sizes.append(self.param_groups[0]["lr"])
            super().step()

    monkeypatch.setattr("lab.features.superposition.Adam", Noted)
    model = superposition.ToyModel(2, 1)
    superposition.train_toy(model, torch.ones(1), torch.ones(2), steps=4, batch=2, lr=0.2)
    assert sizes == pytest.approx([0.2, 0.1 + 0.1 * 0.5**0.5, 0.1, 0.1 - 0.1 * 0.5**0.5])

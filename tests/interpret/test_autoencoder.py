"""Vectors as sums of few directions out of many."""

import numpy as np
import pytest
import torch

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.interpret import SparseAutoencoder, SparseReconstruction


def by_hand(**options):
    """Two directions in the plane, (1, 0) and (0.6, 0.8), read by the axes."""
    model = SparseAutoencoder(2, 2, **options)
    with torch.no_grad():
        model.encoder.copy_(torch.eye(2))
        model.threshold.copy_(torch.tensor([-1.0, 0.0]))
        model.decoder.copy_(torch.tensor([[2.0, 3.0], [0.0, 4.0]]))  # of lengths 2 and 5
        model.offset.copy_(torch.tensor([1.0, 1.0]))
    return model.eval()


def test_a_code_and_its_sum_are_those_computed_by_hand():
    output, f, revival = by_hand()(torch.tensor([[4.0, 6.0], [1.5, 0.0]]))
    torch.testing.assert_close(f, torch.tensor([[2.0, 5.0], [0.0, 0.0]]))
    torch.testing.assert_close(output, torch.tensor([[1 + 2 + 3.0, 1 + 4.0], [1.0, 1.0]]))
    assert revival is None


def test_only_the_largest_features_are_used():
    f = by_hand(active=1).encode(torch.tensor([[4.0, 6.0], [9.0, 3.0]]))
    torch.testing.assert_close(f, torch.tensor([[0.0, 5.0], [7.0, 0.0]]))


def test_the_largest_are_left_out_if_they_are_not_positive():
    assert (by_hand(active=2).encode(torch.zeros(1, 2)) == 0).all()


def test_directions_have_length_one_whatever_is_stored():
    model = by_hand()
    torch.testing.assert_close(model.directions, torch.tensor([[1.0, 0.0], [0.6, 0.8]]))
    before = model(torch.ones(3, 2) * 5).output
    with torch.no_grad():
        model.decoder.mul_(torch.tensor([7.0, 0.1]))
    torch.testing.assert_close(model(torch.ones(3, 2) * 5).output, before)


def test_the_gradient_is_orthogonal_to_each_column():
    model = SparseAutoencoder(5, 8)
    model(torch.randn(20, 5)).output.square().sum().backward()
    along = (model.decoder.grad * model.decoder).sum(0)
    assert model.decoder.grad.abs().max() > 0.1
    assert along.abs().max() < 1e-12


def test_the_offset_starts_at_the_mean():
    model, x = SparseAutoencoder(3, 4), torch.randn(7, 3)
    model.center(x)
    torch.testing.assert_close(model.offset.detach(), x.mean(0))


def test_idle_counts_the_vectors_since_a_feature_was_used():
    model = by_hand(patience=4).train()
    model(torch.tensor([[4.0, 0.0]] * 3))  # the first feature only
    assert model.idle.tolist() == [0, 3]
    model(torch.tensor([[0.0, 0.0]] * 3))
    assert model.idle.tolist() == [3, 6]
    model.eval()(torch.zeros(5, 2))
    assert model.idle.tolist() == [3, 6]
    model.train()(torch.tensor([[4.0, 0.0], [0.0, 0.0]]))  # one of two vectors is enough
    assert model.idle.tolist() == [0, 8]


def test_idle_features_alone_take_part_in_the_revival():
    model = by_hand(active=1, patience=2, revived=1).train()
    x = torch.tensor([[9.0, 3.0]] * 2)  # uses the first; the second would be 2
    assert model(x[:1]).revival is None
    torch.testing.assert_close(model(x).revival, torch.tensor([[1.2, 1.6]] * 2))


def test_the_state_holds_the_counts():
    model = by_hand().train()
    model(torch.zeros(3, 2))
    other = SparseAutoencoder(2, 2)
    other.load_state_dict(model.state_dict())
    assert other.idle.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"active": 9}, "active=9 must be from 1 to features=4"),
        ({"active": 0}, "active=0 must be"),
        ({"patience": 0}, "patience=0 must be positive"),
    ],
)
def test_sizes_that_cannot_be_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        SparseAutoencoder(3, 4, **options)


def test_vectors_of_another_width_are_refused():
    with pytest.raises(InputError, match=r"x \(5, 2\) must be \(vectors, 3\)"):
        SparseAutoencoder(3, 4)(torch.zeros(5, 2))


def test_vectors_of_another_kind_or_without_a_mean_are_refused():
    with pytest.raises(
        InputError, match=r"x is torch\.float32 and the autoencoder torch\.float64"
    ):
        SparseAutoencoder(3, 4)(torch.zeros(5, 3, dtype=torch.float32))
    with pytest.raises(InputError, match="holds NaN or infinity: it has no mean"):
        SparseAutoencoder(3, 4).center(torch.full((5, 3), torch.nan))
    with pytest.raises(InputError, match=r"x \(2, 0, 3\) must be"):
        SparseAutoencoder(3, 4).center(torch.zeros(2, 0, 3))


def test_one_direction_and_a_price_shrink_a_feature_by_half_the_price():
    """(a - f)² + λ f is least at f = a - λ/2, by its derivative."""
    a, price, losses = 3.0, 0.8, []
    tried = np.linspace(0, 4, 401)
    model = SparseAutoencoder(1, 1).eval().requires_grad_(False)
    model.decoder.fill_(2.0)  # of length 1 where it is used
    for f in tried:
        model.encoder.fill_(f / a)
        losses.append(float(SparseReconstruction(price)(model, {"x": torch.tensor([[a]])})[0]))
    assert abs(tried[np.argmin(losses)] - (a - price / 2)) < 1e-9


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("options", [{"active": 2.0}, {"patience": 1.5}, {"revived": True}],
                         ids=["active", "patience", "revived"])  # fmt: skip
def test_sizes_that_are_no_whole_numbers_are_refused(options):
    with pytest.raises(ConfigError, match=r"=(2.0|1.5|True) must be"):
        SparseAutoencoder(3, 4, **options)


@pytest.mark.usefixtures("unchecked")
def test_vectors_elsewhere_and_features_of_another_number_are_refused():
    model = SparseAutoencoder(3, 4)
    with pytest.raises(InputTypeError, match="x is a list: give a tensor"):
        model([[1.0, 2.0, 3.0]])
    with pytest.raises(InputError, match="x is on meta and the autoencoder on cpu"):
        model(torch.zeros(5, 3, device="meta"))
    with pytest.raises(InputError, match=r"f \(5, 3\) must be \(vectors, 4\)"):
        model.decode(torch.zeros(5, 3))


def test_a_feature_is_idle_once_it_was_left_out_as_often_as_patience_says():
    model = by_hand(active=1, patience=2, revived=1).train()
    assert model(torch.tensor([[9.0, 3.0]] * 2)).revival is not None

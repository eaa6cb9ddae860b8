"""Masks at random levels, the loss, and that its mean is the enumerated bound."""

import itertools

import numpy as np
import pytest
import torch

from mathlm import reference as ref
from mathlm.errors import InputError
from mathlm.functional import (
    mask_exactly,
    mask_independently,
    mask_levels,
    masked_diffusion_bound,
    masked_diffusion_loss,
)

MASK = 4


def draws(seed=0):
    return torch.Generator().manual_seed(seed)


def table_model(V=3, T=3):
    """Logits that differ for each pattern of masks and tokens."""
    table = torch.randn((V + 1) ** T, T, V, generator=draws(5), dtype=torch.float64)

    def model(z):
        return table[(z * (V + 1) ** torch.arange(T)).sum(1)]

    def denoise(x, hidden):
        z = torch.where(torch.tensor(hidden), V, torch.tensor(x))[None]
        return model(z)[0].softmax(-1).numpy()

    return model, denoise


def test_loss_and_gradient_are_those_of_the_reference(rng):
    logits, targets = rng.normal(size=(3, 4, 5)), rng.integers(0, 5, (3, 4))
    targets[rng.random((3, 4)) < 0.4] = -100
    levels, dy = np.array([0.1, 0.5, 1.0]), rng.normal(size=3)
    expected, cache = ref.masked_diffusion_loss(logits, targets, levels)
    z = torch.tensor(logits, requires_grad=True)
    found = masked_diffusion_loss(z, torch.tensor(targets), torch.tensor(levels))
    np.testing.assert_allclose(found.detach(), expected, rtol=1e-12)
    (dz,) = torch.autograd.grad(found, z, torch.tensor(dy))
    right = ref.masked_diffusion_loss_backward(dy, cache)
    np.testing.assert_allclose(dz, right, rtol=1e-12, atol=1e-14)


def test_the_mean_over_subsets_of_each_size_is_the_enumerated_bound():
    """k uniform, the subset uniform, the level k / T: every case once, with its probability."""
    model, denoise = table_model()
    x, T, bound = torch.tensor([[2, 0, 1]]), 3, 0.0
    for k in range(1, T + 1):
        subsets = list(itertools.combinations(range(T), k))
        for subset in subsets:
            hidden = torch.zeros(1, T, dtype=torch.bool)
            hidden[0, list(subset)] = True
            logits = model(x.masked_fill(hidden, 3))
            level = torch.tensor([k / T], dtype=torch.float64)
            loss = masked_diffusion_loss(logits, x.masked_fill(~hidden, -100), level)
            bound += float(loss) / T / len(subsets)
    assert bound == pytest.approx(ref.any_order_bound((2, 0, 1), denoise), rel=1e-12)


@pytest.mark.slow
def test_estimates_have_the_enumerated_bound_as_their_mean():
    model, denoise = table_model()
    x = torch.tensor([[2, 0, 1], [0, 0, 2]])
    found = masked_diffusion_bound(model, x, 3, samples=1500, generator=draws())
    for row, text in zip(found.T, x.tolist(), strict=True):
        expected = ref.any_order_bound(tuple(text), denoise)
        standard_error = float(row.std()) / len(row) ** 0.5
        assert abs(float(row.mean()) - expected) < 4 * standard_error < 0.25


def test_stratified_levels_have_one_in_each_equal_part():
    levels = mask_levels(8, draws())
    assert (levels * 8).ceil().tolist() == list(range(1, 9))
    assert float(levels.min()) > 0
    assert float(levels.max()) <= 1
    assert levels.diff() == pytest.approx(torch.full((7,), 1 / 8))


@pytest.mark.parametrize("stratified", [True, False])
def test_the_levels_of_all_rows_together_are_uniform(stratified):
    g = draws()
    levels = torch.stack([mask_levels(4, g, stratified=stratified) for _ in range(4000)])
    shares = torch.histc(levels, 4, 0, 1) / levels.numel()
    assert (shares - 0.25).abs().max() < (1e-3 if stratified else 0.02)
    assert (levels[0].diff().std() < 1e-6) == stratified
    first = torch.histc(levels[:, 0], 4, 0, 1) / len(levels)
    assert ((first - 0.25).abs().max() < 0.03) != stratified


def test_the_generator_alone_decides():
    ids, logits = torch.randint(MASK, (3, 40), generator=draws()), torch.randn(3, 40, 5)
    for draw in (
        lambda g: mask_levels(9, g),
        lambda g: mask_levels(9, g, stratified=False),
        lambda g: mask_independently(ids, torch.full((3,), 0.5), MASK, g),
        lambda g: mask_exactly(ids, torch.full((3,), 20), MASK, g),
        lambda g: masked_diffusion_bound(lambda z: logits, ids, MASK, samples=4, generator=g),
    ):
        first, second = draw(draws(1)), draw(draws(1))
        assert torch.equal(first, second)
        assert not torch.equal(first, draw(draws(2)))


def test_a_lot_of_0_hides_nothing_at_level_0(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *size, generator: torch.zeros(*size))
    ids = torch.ones(1, 3).long()
    assert torch.equal(mask_independently(ids, torch.zeros(1), MASK), ids)


def test_masks_lie_where_the_ids_do():
    ids, g = torch.ones(2, 3, dtype=torch.int64, device="meta"), draws()
    assert mask_independently(ids, torch.ones(2), MASK, g).device.type == "meta"
    assert mask_exactly(ids, torch.ones(2).long(), MASK, g).device.type == "meta"


def test_a_loss_has_the_precision_of_the_logits_and_a_text_one_estimate():
    ids, logits = torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3, 5).float()
    assert masked_diffusion_loss(logits, ids, torch.ones(2)).dtype == torch.float32
    assert masked_diffusion_bound(lambda z: logits, ids, MASK).shape == (1, 2)


def test_levels_0_and_1_hide_nothing_and_everything():
    ids = torch.randint(MASK, (2, 50), generator=draws())
    z = mask_independently(ids, torch.tensor([0.0, 1.0]), MASK, draws())
    assert torch.equal(z[0], ids[0])
    assert (z[1] == MASK).all()


def test_the_share_of_masks_is_the_level_and_places_are_independent():
    ids = torch.zeros(4000, 2, dtype=torch.int64)
    z = mask_independently(ids, torch.full((4000,), 0.3), MASK, draws()) == MASK
    share = z.double().mean(0)
    assert ((share - 0.3).abs() < 0.03).all()
    assert abs(float(z.all(1).double().mean()) - 0.09) < 0.02


def test_exactly_so_many_are_masked_and_every_set_is_equally_likely():
    ids = torch.zeros(6000, 4, dtype=torch.int64)
    z = mask_exactly(ids, torch.arange(6000) % 3, MASK, draws()) == MASK
    assert torch.equal(z.sum(1), torch.arange(6000) % 3)
    pairs = (z[2::3].long() * 2 ** torch.arange(4)).sum(1)
    shares = torch.bincount(pairs, minlength=16)[[3, 5, 6, 9, 10, 12]] / 2000
    assert ((shares - 1 / 6).abs() < 0.03).all()


def test_what_does_not_fit_is_refused():
    ids, logits = torch.zeros(2, 3, dtype=torch.int64), torch.zeros(2, 3, 5)
    with pytest.raises(InputError, match="count=0 must be at least 1"):
        mask_levels(0)
    with pytest.raises(InputError, match=r"levels \(3,\) must be one for each of 2 rows"):
        mask_independently(ids, torch.ones(3), MASK)
    with pytest.raises(InputError, match="0 <= level <= 1"):
        mask_independently(ids, torch.tensor([0.5, 1.5]), MASK)
    with pytest.raises(InputError, match=r"counts \[1, 4\] must be one number in 0\.\.3"):
        mask_exactly(ids, torch.tensor([1, 4]), MASK)
    with pytest.raises(InputError, match="0 < level <= 1"):
        masked_diffusion_loss(logits, ids, torch.tensor([0.0, 0.5]))
    with pytest.raises(InputError, match=r"the mask 0 at \[0, 0\]"):
        masked_diffusion_bound(lambda z: logits, ids, 0)
    with pytest.raises(InputError, match="count=0"):
        masked_diffusion_bound(lambda z: logits, ids, MASK, samples=0)
    with pytest.raises(InputError, match="are empty"):
        masked_diffusion_bound(lambda z: logits, ids[:0], MASK)

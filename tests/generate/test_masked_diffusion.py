"""Filling masks: what is kept, how many at a time, in which order, and what is written."""

import math

import numpy as np
import pytest
import torch

from mathlm import reference as ref
from mathlm.errors import InputError
from mathlm.generate import Sampler, fill_masks

V, T, MASK = 2, 3, 2


def draws(seed=0):
    return torch.Generator().manual_seed(seed)


def exact_model(p):
    """The exact denoiser of a world as a model of logits, -∞ for the mask."""
    denoise, known = ref.exact_denoiser(p), {}

    def rows(z):
        if z not in known:
            hidden = np.array([token == MASK for token in z])
            known[z] = denoise(
                tuple(0 if h else t for h, t in zip(hidden, z, strict=True)), hidden
            )
        return known[z]

    def model(z):
        p = torch.tensor(np.stack([rows(tuple(row)) for row in z.tolist()]))
        return torch.cat([p.log(), torch.full((*z.shape, 1), -torch.inf)], -1)

    return model


def shares(samples):
    """How often each sequence was written."""
    codes = (samples * torch.tensor([4, 2, 1])).sum(1)
    return torch.bincount(codes, minlength=8).double().reshape(2, 2, 2).numpy() / len(samples)


def world():
    return np.random.default_rng(0).dirichlet(np.full(8, 0.7)).reshape(2, 2, 2)


@pytest.mark.parametrize("order", ["random", "left", "confidence"])
def test_one_at_a_time_writes_the_distribution(order):
    p, n = world(), 4000
    blank = torch.full((n, T), MASK)
    model = exact_model(p)
    found = shares(fill_masks(model, blank, MASK, steps=T, order=order, generator=draws()))
    assert (np.abs(found - p) < 4 * np.sqrt(p * (1 - p) / n) + 1e-12).all()


def test_all_at_once_writes_the_product_of_the_marginals():
    p, n = world(), 4000
    q = ref.parallel_commits(p, [range(T)])
    blank = torch.full((n, T), MASK)
    found = shares(fill_masks(exact_model(p), blank, MASK, steps=1, generator=draws()))
    assert (np.abs(found - q) < 4 * np.sqrt(q * (1 - q) / n)).all()
    assert np.abs(found - p).max() > 0.02


def test_what_is_visible_stays_and_conditions_the_rest():
    p, n = world(), 4000
    ids = torch.full((n, T), MASK)
    ids[:, 1] = 1
    filled = fill_masks(exact_model(p), ids, MASK, steps=2, generator=draws())
    assert (filled[:, 1] == 1).all()
    q = p * np.array([0, 1])[None, :, None] / p[:, 1].sum()
    assert (np.abs(shares(filled) - q) < 4 * np.sqrt(q * (1 - q) / n) + 1e-12).all()


class Seen:
    """A model that keeps what it was given; the place is surer the further to the right."""

    def __init__(self):
        self.read = []

    def __call__(self, z):
        self.read.append(z.clone())
        logits = torch.zeros(*z.shape, 5)
        logits[..., 1] = torch.arange(z.shape[1]).float()
        logits[..., 4] = -torch.inf
        return logits


@pytest.mark.parametrize(("steps", "masks"), [(3, [8, 5, 2]), (8, [8, 7, 6, 5, 4, 3, 2, 1])])
def test_each_pass_commits_an_equal_share(steps, masks):
    model = Seen()
    filled = fill_masks(model, torch.full((2, 8), 4), 4, steps=steps, generator=draws())
    assert [(z[0] == 4).sum().item() for z in model.read] == masks
    assert not (filled == 4).any()


def test_no_pass_is_made_when_nothing_is_hidden():
    model, ids = Seen(), torch.full((1, 3), 4)
    fill_masks(model, ids, 4, steps=10, generator=draws())
    assert len(model.read) == 3
    assert (ids == 4).all()


@pytest.mark.parametrize(("order", "first"), [("confidence", [4, 5]), ("left", [0, 1])])
def test_the_order_says_which_places_come_first(order, first):
    model = Seen()
    fill_masks(model, torch.full((1, 6), 4), 4, steps=3, order=order, generator=draws())
    assert (model.read[1][0] != 4).nonzero().flatten().tolist() == first


def test_confidence_is_a_probability_and_not_a_logit():
    model = Seen()

    def raised(z):  # more at the left: no probability changes
        return model(z) + torch.arange(9.0, 3.0, -1.0)[:, None] * 5

    fill_masks(raised, torch.full((1, 6), 4), 4, steps=3, order="confidence")
    assert (model.read[1][0] != 4).nonzero().flatten().tolist() == [4, 5]


def test_a_greedy_sampler_leaves_the_confidence_of_the_model():
    model, ids = Seen(), torch.full((1, 6), 4)
    fill_masks(model, ids, 4, steps=3, order="confidence", sampler=Sampler(0))
    assert (model.read[1][0] != 4).nonzero().flatten().tolist() == [4, 5]


def test_a_random_order_is_another_one_for_each_row():
    model = Seen()
    fill_masks(model, torch.full((300, 4), 4), 4, steps=4, generator=draws())
    first = (model.read[1] != 4).double().mean(0)
    assert ((first - 0.25).abs() < 3 * math.sqrt(0.25 * 0.75 / 300)).all()


def test_the_sampler_is_heard():
    filled = fill_masks(Seen(), torch.full((5, 4), 4), 4, steps=1, sampler=Sampler(0))
    assert filled.tolist() == [[0, 1, 1, 1]] * 5


def test_the_seed_decides():
    one, two, other = (
        fill_masks(Seen(), torch.full((5, 9), 4), 4, steps=3, generator=draws(s))
        for s in (0, 0, 1)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_what_cannot_be_is_refused():
    ids = torch.full((1, 3), 4)
    with pytest.raises(InputError, match="steps=0 must be at least 1"):
        fill_masks(Seen(), ids, 4, steps=0)
    with pytest.raises(InputError, match="order='right'"):
        fill_masks(Seen(), ids, 4, steps=1, order="right")
    with pytest.raises(InputError, match="gives the mask 3"):
        fill_masks(Seen(), torch.full((1, 3), 3), 3, steps=1)


@pytest.mark.slow
def test_diffusion_gemma_draws_random_tokens_and_accepts_by_a_bound_on_entropies():
    """What the page says of the class of transformers: as many of the surest as fit."""
    theirs = pytest.importorskip(
        "transformers.models.diffusion_gemma.generation_diffusion_gemma"
    )
    bound, n = 1.5, 20
    sampler = theirs.EntropyBoundSampler(theirs.EntropyBoundSamplerConfig(bound), n, 7, 10)
    canvas = sampler.initialize_canvas(500, torch.device("cpu"))
    assert len(canvas.unique()) == 7  # any token: none of them is a mask
    logits = 2 * torch.randn(500, n, 7, generator=draws())
    sampler.accept_canvas(canvas, canvas, logits, 1)
    for row, kept in zip(logits.softmax(-1), sampler.accepted_token_mask, strict=True):
        entropy = torch.special.entr(row).sum(-1).sort().values
        k = int(kept.sum())
        assert entropy[: k - 1].sum() <= bound + 1e-5  # all but the largest
        assert entropy[:k].sum() > bound - 1e-5  # one more would not fit

import numpy as np
import pytest
import torch

from lab.embeddings import association
from mathlm import reference as ref
from mathlm.errors import ConfigError, DataError, InputError, InputTypeError
from mathlm.models import SkipGram
from mathlm.optim import Adam
from mathlm.text import cooccurrence_counts, skip_gram_pairs
from mathlm.train import NegativeSampling, SkipGramBatches, Trainer, TrainerConfig

CENTERS, CONTEXTS, COUNTS = np.arange(12) % 4, np.arange(12) // 3, np.array([5, 3, 2, 2])


def batches(**changes):
    options = {"groups": 2, "pairs": 2, "drawn": 3} | changes
    return SkipGramBatches(CENTERS, CONTEXTS, COUNTS, **options)


def test_an_epoch_visits_every_pair_once():
    data = batches()
    assert data.steps_per_epoch == 3
    seen = [data(step) for step in range(3)]
    columns = (torch.cat([b[name] for b in seen]).flatten() for name in ("centers", "contexts"))
    assert sorted(zip(*(c.tolist() for c in columns), strict=True)) == sorted(
        zip(CENTERS, CONTEXTS, strict=True)
    )


def test_a_batch_depends_on_the_seed_and_the_step_alone():
    a, b, c = batches(seed=1), batches(seed=1), batches(seed=2)
    b(7)
    for name in ("centers", "contexts", "negatives"):
        assert torch.equal(a(4)[name], b(4)[name])
    assert not torch.equal(a(4)["negatives"], c(4)["negatives"])
    assert not torch.equal(a(4)["negatives"], a(5)["negatives"])


def test_draws_follow_the_distribution_of_negative_samples():
    """Power 1: shares 5/12, 3/12, 2/12, 2/12, within 4 standard deviations of 80,000 draws."""
    drawn = batches(drawn=40_000, power=1)(0)["negatives"]
    shares = torch.bincount(drawn.flatten(), minlength=4) / drawn.numel()
    np.testing.assert_allclose(shares, COUNTS / 12, atol=4 * 0.5 / 80_000**0.5)


def test_a_word_without_counts_is_never_drawn():
    data = SkipGramBatches(
        CENTERS, CONTEXTS, np.array([0, 5, 0, 1]), groups=1, pairs=1, drawn=999
    )
    assert set(data(0)["negatives"].flatten().tolist()) == {1, 3}


def test_objective_is_the_sum_over_the_pairs_and_their_number():
    model, batch = SkipGram(4, 3), batches()(0)
    torch.nn.init.normal_(model.C)
    loss, count = NegativeSampling(5)(model, batch)
    assert count == 4
    torch.testing.assert_close(loss, model.loss(*batch.values(), 5).sum())


@pytest.mark.slow
def test_training_reaches_the_least_expected_loss():
    """Vectors of full width, power 1: the mean loss ends near its minimum, at PMI - log k."""
    ids = np.random.default_rng(0).integers(0, 4, 2000).repeat(2)
    pairs = skip_gram_pairs(ids, 2)
    counts = cooccurrence_counts(ids, 2, 4)
    data = SkipGramBatches(*pairs, counts.sum(0), groups=64, pairs=8, drawn=8, power=1)
    model = SkipGram(4, 4)
    config = TrainerConfig(steps=300, schedule=lambda step: 0.05 * 0.99**step, clip=None)
    Trainer(model, NegativeSampling(2), data, Adam(model.parameters()), config).fit()
    x = (model.W @ model.C.T).detach().numpy()
    best, _ = ref.expected_negative_sampling(association.shifted_pmi(counts, 2), counts, 2)
    found, _ = ref.expected_negative_sampling(x, counts, 2)
    assert best <= found < best + 1e-3
    np.testing.assert_allclose(x, association.shifted_pmi(counts, 2), atol=0.1)


@pytest.mark.parametrize("name", ["groups", "pairs", "drawn"])
def test_sizes_are_positive(name):
    with pytest.raises(ConfigError, match=f"{name}=0 must be positive"):
        batches(**{name: 0})


def test_negative_seeds_and_weights_are_refused():
    with pytest.raises(ConfigError, match="seed=-1 must not be negative"):
        batches(seed=-1)
    with pytest.raises(ConfigError, match="k=0 negative samples"):
        NegativeSampling(0)


BAD = [
    ((CENTERS, CONTEXTS[1:], COUNTS), InputError, r"contexts \(11,\) must be equally long"),
    ((CENTERS, CONTEXTS, COUNTS[:3]), InputError, "token id 3 at .* outside 0..2"),
    ((CENTERS - 1, CONTEXTS, COUNTS), InputError, "token id -1 at .* outside 0..3"),
    ((CENTERS, CONTEXTS, -COUNTS), InputError, "count 0 is -5.0"),
    ((CENTERS[:3], CONTEXTS[:3], COUNTS), DataError, "3 pairs, but a step takes 2 groups of 2"),
]


@pytest.mark.parametrize(("arrays", "error", "message"), BAD)
def test_bad_pairs_are_refused(arrays, error, message):
    with pytest.raises(error, match=message):
        SkipGramBatches(*arrays, groups=2, pairs=2)


def test_word_numbers_are_integers():
    f = getattr(SkipGramBatches.__init__, "__wrapped__", SkipGramBatches.__init__)
    data = object.__new__(SkipGramBatches)
    with pytest.raises(InputTypeError, match="must be int64, got float64"):
        f(data, CENTERS * 1.0, CONTEXTS, COUNTS, groups=1, pairs=1)


def test_an_infinite_weight_of_the_draws_is_refused():
    with pytest.raises(ConfigError, match="k=inf negative samples"):
        NegativeSampling(float("inf"))


@pytest.mark.parametrize("bad", [{"groups": 1.5}, {"pairs": float("nan")}, {"seed": 1.5}])
@pytest.mark.usefixtures("unchecked")
def test_sizes_that_are_no_integers_are_refused(bad):
    ids = np.arange(8) % 3
    with pytest.raises(ConfigError, match="an integer"):
        SkipGramBatches(ids, ids, np.ones(3), **bad)

import math
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from lab.generation.conditioning import constrained_texts, weighted_texts
from mathlm.errors import InputError
from mathlm.generate import RegexConstraint, generate
from mathlm.models import GPT, GPTConfig

TOKENS, V = [b"a", b"b", b"ab", b""], 4
PATTERN = "(a|b)?b|aab*"
START = torch.tensor([1])


def make():
    torch.manual_seed(3)
    sizes = {"vocab_size": V, "context": 8, "d_model": 16, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(**sizes))
    for p in model.parameters():
        p.data += 0.1 * torch.randn_like(p)
    return model


def log_probabilities(model):
    return lambda ids: model(ids)[:, -1].log_softmax(-1)


def log_p(model, text):
    ids = torch.tensor([[*START.tolist(), *text]])
    logp = model(ids).log_softmax(-1)[0, :-1]
    return logp.gather(1, ids[0, 1:, None]).sum().item()


def test_a_world_where_masking_is_far_off_by_hand():
    """p(a) = 0.9 and p(b) = 0.1; behind a only 0.01 goes to c, behind b all of it.

    Masking draws ac with 0.9. Given (a|b)c it has 0.009 / 0.109 = 0.0826.
    """
    tables = {0: [0, 0.9, 0.1, 0], 1: [0, 0.5, 0.49, 0.01], 2: [0, 0, 0, 1]}
    world = lambda ids: torch.tensor([tables[t] for t in ids[:, -1].tolist()]).log()  # noqa: E731
    constraint = RegexConstraint("(a|b)c", [b"", b"a", b"b", b"c"])
    found = constrained_texts(world, torch.tensor([0]), constraint, 2)
    assert found.texts == [(1, 3), (2, 3)]
    torch.testing.assert_close(found.masked, torch.tensor([0.9, 0.1]))
    torch.testing.assert_close(found.conditional, torch.tensor([0.009, 0.1]) / 0.109)
    assert math.isclose(found.probability, 0.109)


@pytest.mark.parametrize("end", [None, 3])
@torch.no_grad()
def test_the_conditional_is_that_of_all_texts_the_model_writes(end):
    """All V³ sequences, each up to where its text is complete, divided by what they hold."""
    model, constraint = make(), RegexConstraint(PATTERN, TOKENS, end)
    found = constrained_texts(log_probabilities(model), START, constraint, 3)
    p = {text: math.exp(log_p(model, text)) for text in found.texts}
    free = {t: math.exp(log_p(model, t)) for t in product(range(V), repeat=3)}
    met = {t: q for t, q in free.items() if any(t[: len(x)] == x for x in p)}
    assert math.isclose(found.probability, sum(met.values()), rel_tol=1e-12)
    for text, conditional in zip(found.texts, found.conditional.tolist(), strict=True):
        assert math.isclose(conditional, p[text] / sum(p.values()), rel_tol=1e-12)


@pytest.mark.parametrize("end", [None, 3])
def test_both_distributions_sum_to_one_and_differ(end):
    constraint = RegexConstraint(PATTERN, TOKENS, end)
    found = constrained_texts(log_probabilities(make()), START, constraint, 3)
    for p in (found.masked, found.conditional):
        assert abs(p.sum().item() - 1) <= 1e-12
    assert (found.masked - found.conditional).abs().sum() > 0.05
    assert len(set(found.texts)) == len(found.texts)


@pytest.mark.parametrize("end", [None, 3])
def test_generation_draws_texts_with_the_masked_probabilities(end):
    """Chi-square on 1,500 texts; that they are the conditional's is ruled out."""
    model, constraint = make(), RegexConstraint(PATTERN, TOKENS, end)
    found = constrained_texts(log_probabilities(model), START, constraint, 3)
    drawn = weighted_texts(model, START, 3, constraint, 1500, seed=0)
    counts = [drawn.texts.count(text) for text in found.texts]
    assert stats.chisquare(counts, 1500 * found.masked.numpy()).pvalue > 0.01
    assert stats.chisquare(counts, 1500 * found.conditional.numpy()).pvalue < 1e-6


def test_a_weight_is_the_ratio_of_the_two_probabilities():
    model, constraint = make(), RegexConstraint(PATTERN, TOKENS)
    found = constrained_texts(log_probabilities(model), START, constraint, 3)
    ratio = found.conditional * found.probability / found.masked
    drawn = weighted_texts(model, START, 3, constraint, 50, seed=0)
    expected = [ratio[found.texts.index(text)] for text in drawn.texts]
    torch.testing.assert_close(
        drawn.log_weights.exp(), torch.stack(expected), rtol=1e-10, atol=0
    )


def test_rejection_leaves_exact_draws_from_the_conditional():
    model, constraint = make(), RegexConstraint(PATTERN, TOKENS, 3)
    found = constrained_texts(log_probabilities(model), START, constraint, 3)
    drawn = weighted_texts(model, START, 3, constraint, 1500, seed=1)
    kept = drawn.accepted(np.random.default_rng(0))
    counts = [kept.count(text) for text in found.texts]
    assert abs(len(kept) / 1500 - found.probability) < 0.05
    assert stats.chisquare(counts, len(kept) * found.conditional.numpy()).pvalue > 0.01


def test_weighted_means_are_those_of_the_conditional():
    """Mean length; of 1,500 draws, each with a weight."""
    model, constraint = make(), RegexConstraint(PATTERN, TOKENS, 3)
    found = constrained_texts(log_probabilities(model), START, constraint, 3)
    drawn = weighted_texts(model, START, 3, constraint, 1500, seed=2)
    lengths = [torch.tensor([float(len(t)) for t in some.texts]) for some in (found, drawn)]
    assert abs(found.conditional @ lengths[0] - drawn.weights @ lengths[1]) < 0.08
    assert abs(drawn.probability - found.probability) < 0.03
    assert 1 < drawn.effective_count < 1500


def test_a_text_that_is_complete_at_once_is_the_only_one():
    found = constrained_texts(log_probabilities(make()), START, RegexConstraint("", TOKENS), 2)
    assert found.texts == [()]
    assert found.probability == 1.0


@pytest.mark.parametrize(
    ("pattern", "n", "why"),
    [
        ("a{3}", 2, "max_new_tokens=2 is too few: .* has 3 tokens"),
        ("a*", 0, "max_new_tokens=0 is too few"),
        ("[ab]{24}", 24, "more than 1,000,000 texts"),
    ],
)
def test_a_world_that_cannot_be_enumerated_is_refused(pattern, n, why, monkeypatch):
    monkeypatch.setattr("lab.generation.conditioning.MAX_TEXTS", 1_000)
    why = why.replace("1,000,000", "1,000")
    uniform = lambda ids: torch.full((len(ids), V), 1 / V).log()  # noqa: E731
    with pytest.raises(InputError, match=why):
        constrained_texts(uniform, START, RegexConstraint(pattern, TOKENS), n)


def test_a_model_that_rules_out_what_is_allowed_is_refused():
    never_a = lambda ids: torch.tensor([[0.0, 1.0, 0.0, 0.0]]).log()  # noqa: E731
    with pytest.raises(InputError, match=r"behind \[1\] all allowed tokens .* -inf"):
        constrained_texts(never_a, START, RegexConstraint("a", [b"a", b"b", b"c", b"d"]), 1)


def test_arguments_that_do_not_fit_are_refused(unchecked):
    constraint = RegexConstraint("a", TOKENS)
    with pytest.raises(InputError, match=r"gave shape \(1, 3\) .* expected \(1, 4\)"):
        constrained_texts(lambda ids: torch.zeros(1, 3), START, constraint, 1)
    with pytest.raises(InputError, match=r"start has shape \(0,\)"):
        constrained_texts(lambda ids: torch.zeros(1, 4), START[:0], constraint, 1)
    with pytest.raises(InputError, match="count=0 must be at least 1"):
        weighted_texts(make(), START, 1, constraint, 0)
    with pytest.raises(InputError, match=r"prompt has shape \(1, 1\)"):
        weighted_texts(make(), START[None], 1, constraint, 1)


def test_constrained_texts_are_those_of_generate():
    model, constraint = make(), RegexConstraint(PATTERN, TOKENS)
    drawn = weighted_texts(model, START, 3, constraint, 5, seed=4)
    ids = generate(model, START.expand(5, -1), 3, seed=4, constraint=constraint, pad=0)
    for text, row in zip(drawn.texts, ids[:, 1:].tolist(), strict=True):
        assert tuple(row[: len(text)]) == text

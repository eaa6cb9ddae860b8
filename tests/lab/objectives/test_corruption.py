import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.objectives.corruption import masked_posterior, topic_guess
from mathlm.errors import DataError, InputError

BERT = (0.8, 0.1, 0.1)
PRIOR = np.array([0.5, 0.3, 0.15, 0.05])


def test_the_posterior_is_what_counting_finds(rng):
    """Corrupt a million chosen tokens and count what stood where token 2 is shown."""
    n = 1_000_000
    x = rng.choice(4, n, p=PRIOR)
    fate = rng.choice(3, n, p=BERT)
    shown = np.where(fate == 1, rng.choice(4, n), np.where(fate == 2, x, -1))
    counted = np.bincount(x[shown == 2], minlength=4) / (shown == 2).sum()
    assert_allclose(masked_posterior(PRIOR, 2, BERT), counted, atol=5e-3)


def test_a_mask_says_nothing_but_what_the_rest_says():
    assert_allclose(masked_posterior(PRIOR, None, BERT), PRIOR)


def test_without_kept_tokens_what_is_shown_is_ignored():
    assert_allclose(masked_posterior(PRIOR, 3, (0.8, 0.2, 0.0)), PRIOR)


def test_without_random_tokens_what_is_shown_is_copied():
    assert masked_posterior(PRIOR, 3, (0.8, 0.0, 0.2)).tolist() == [0, 0, 0, 1]


def test_a_token_that_cannot_stand_there_is_known_to_be_random():
    """p(w) = 0 leaves only replacement, and the answer is the prior of the others."""
    prior = [0.75, 0.25, 0.0]
    assert_allclose(masked_posterior(prior, 2, BERT), prior)


def test_equal_shares_weigh_the_shown_token_by_the_size_of_the_vocabulary():
    """Weights 1/V for all and 1 + 1/V for the shown one: (1 + V) p(w) : p(x)."""
    got = masked_posterior(PRIOR, 2, BERT)
    assert got[2] / got[0] == pytest.approx(5 * PRIOR[2] / PRIOR[0])


def test_where_nothing_is_asked_there_is_no_answer():
    with pytest.raises(DataError, match=r"never shows token 1 with shares \(1.0, 0.0, 0.0\)"):
        masked_posterior(PRIOR, 1, (1, 0, 0))
    with pytest.raises(DataError, match=r"never shows \[MASK\]"):
        masked_posterior(PRIOR, None, (0, 0.5, 0.5))


def test_what_is_no_distribution_is_refused():
    with pytest.raises(InputError, match="prior is no distribution"):
        masked_posterior([0.5, 0.6], 0, BERT)
    with pytest.raises(InputError, match="must be three, at least 0, and sum to 1"):
        masked_posterior(PRIOR, 0, (0.8, 0.1, 0.2))
    with pytest.raises(InputError, match=r"seen=4 is outside 0\.\.3"):
        masked_posterior(PRIOR, 4, BERT)


def test_topics_are_guessed_as_rightly_as_all_pairs_of_them_say():
    """K true pairs, one a topic, and K² others: right where topics agree just if it follows."""
    K = 7
    others = [a != b for a in range(K) for b in range(K)]
    assert topic_guess(K) == pytest.approx(0.5 + 0.5 * np.mean(others))
    assert topic_guess(1) == 0.5
    with pytest.raises(InputError, match="topics=0"):
        topic_guess(0)

import numpy as np
import pytest
from scipy.optimize import minimize

from lab.preference_optimization import preference_optima
from mathlm.errors import InputError

P_REF = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
MU = np.array([0.1, 0.4, 0.2, 0.1, 0.2])
REWARDS = np.array([0.3, -0.5, 1.2, 0.0, -1.0])
LENGTHS = np.array([1, 2, 3, 2, 4])
BETA = 0.5
WIN = 1 / (1 + np.exp(-(REWARDS[:, None] - REWARDS)))


def softmax(z):
    p = np.exp(z - z.max())
    return p / p.sum()


def least(loss):
    """The softmax table at which a loss of log-ratios is least."""
    ratio = lambda z: np.log(softmax(z)) - np.log(P_REF)  # noqa: E731
    found = minimize(lambda z: loss(ratio(z)), np.log(P_REF), method="BFGS", tol=1e-12)
    return softmax(found.x)


def test_a_win_rate_is_a_mean_over_what_is_drawn():
    by_hand = [sum(MU[j] * WIN[i, j] for j in range(5)) for i in range(5)]
    np.testing.assert_allclose(preference_optima.win_rate(WIN, MU), by_hand, rtol=1e-12)


@pytest.mark.parametrize("certain", [False, True])
def test_ipo_ends_where_its_mean_loss_is_least(certain):
    win = (WIN > 0.5) + 0.5 * np.eye(5) if certain else WIN
    pair = np.outer(MU, MU) * win

    def loss(h):
        return (pair * (h[:, None] - h - 1 / (2 * BETA)) ** 2).sum()

    np.testing.assert_allclose(
        preference_optima.ipo_optimum(P_REF, win, MU, BETA), least(loss), atol=2e-6
    )


def test_what_is_never_compared_counts_as_an_average_one():
    compared = np.array([True, True, True, False, False])
    z = np.log(P_REF)
    pair = np.outer(compared, compared) * WIN
    for _ in range(20_000):
        r = BETA * (z - np.log(P_REF))
        push = BETA * pair / (1 + np.exp(r[:, None] - r))  # -dloss/dr of winner, + of loser
        z = z + 0.5 * (push.sum(1) - push.sum(0))
    found = preference_optima.never_compared_optimum(P_REF, REWARDS, compared, BETA)
    np.testing.assert_allclose(softmax(z), found, atol=1e-9)


def test_rewards_per_token_are_met_and_sum_to_one():
    found = preference_optima.length_normalized_optimum(P_REF, REWARDS, LENGTHS, BETA)
    per_token = BETA * np.log(found / P_REF) / LENGTHS
    assert abs(found.sum() - 1) < 1e-12
    np.testing.assert_allclose(np.ptp(per_token - REWARDS), 0, atol=1e-9)


def test_equal_lengths_only_change_the_price():
    found = preference_optima.length_normalized_optimum(P_REF, REWARDS, np.full(5, 3), BETA)
    np.testing.assert_allclose(found, softmax(np.log(P_REF) + 3 * REWARDS / BETA), atol=1e-9)


def test_information_is_the_mean_curvature_of_the_surprise():
    pairs = np.outer(MU, MU)
    np.fill_diagonal(pairs, 0)

    def surprise(r):
        return (pairs * WIN * np.logaddexp(0, -(r[:, None] - r))).sum() * 2

    h, eye = 1e-4, np.eye(5)
    bend = [[(surprise(REWARDS + h * (a + b)) - surprise(REWARDS + h * (a - b))
              - surprise(REWARDS - h * (a - b)) + surprise(REWARDS - h * (a + b))) / (4 * h * h)
             for a in eye] for b in eye]  # fmt: skip
    np.testing.assert_allclose(
        preference_optima.comparison_information(REWARDS, pairs), bend, atol=1e-6
    )


def test_the_expected_divergence_is_that_of_rewards_with_normal_errors(rng):
    inform, n = preference_optima.comparison_information(REWARDS, np.outer(MU, MU)), 20_000
    best = softmax(np.log(P_REF) + REWARDS / BETA)
    errors = rng.multivariate_normal(np.zeros(5), np.linalg.pinv(inform) / n, 4000)
    fitted = [softmax(np.log(P_REF) + (REWARDS + e) / BETA) for e in errors]
    measured = np.mean([(p * np.log(p / best)).sum() for p in fitted])
    assert (
        abs(preference_optima.expected_divergence(best, inform, BETA, n) / measured - 1) < 0.05
    )


def test_shifts_are_means_over_ordered_pairs():
    best, total = softmax(np.log(P_REF) + REWARDS / BETA), np.zeros(3)
    shift = np.log(best / P_REF)
    for i in range(5):
        for j in range(5):
            if i != j:
                w = MU[i] * MU[j] * WIN[i, j]
                total += w * np.array([shift[i], shift[j], 1])
    np.testing.assert_allclose(
        preference_optima.mean_shifts(P_REF, best, WIN, MU), total[:2] / total[2]
    )


def test_bad_tables_are_refused():
    with pytest.raises(InputError, match="sums to 1 with its transpose"):
        preference_optima.win_rate(np.ones((5, 5)), MU)
    with pytest.raises(InputError, match="p_ref must be positive"):
        preference_optima.never_compared_optimum([1.0, 0.0], [0, 0], np.array([True, True]), 1)
    with pytest.raises(InputError, match="lengths must be at least 1, got 0"):
        preference_optima.length_normalized_optimum(P_REF, REWARDS, [0, 1, 1, 1, 1], BETA)
    with pytest.raises(InputError, match=r"beta=0 must be positive"):
        preference_optima.ipo_optimum(P_REF, WIN, MU, 0)
    with pytest.raises(InputError, match="number=0 must be at least 1"):
        preference_optima.expected_divergence(P_REF, np.eye(5), 1, 0)


def test_tables_of_other_sizes_are_refused():
    with pytest.raises(InputError, match=r"information has shape \(4, 4\); it needs \(5, 5\)"):
        preference_optima.expected_divergence(P_REF, np.eye(4), 1, 10)
    with pytest.raises(InputError, match=r"win the shape \(1, 1\); all need the same"):
        preference_optima.mean_shifts(P_REF, P_REF, [[0.5]], MU)


def test_a_policy_without_some_completion_has_no_mean_shift():
    with pytest.raises(InputError, match="policy and p_ref must be positive"):
        preference_optima.mean_shifts(P_REF, [0.5, 0.5, 0, 0, 0], WIN, MU)

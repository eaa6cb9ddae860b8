from importlib.util import find_spec

import numpy as np
import pytest
import torch

from lab.embeddings.row_updates import coasting_factor, expected_rows_touched, idle_adam_steps
from mathlm.errors import ConfigError, InputError
from mathlm.reference import adam_step
from mathlm.text import corpus

PLAYS = corpus.CORPORA["shakespeare"]


def zipf(V):
    weights = 1 / np.arange(1, V + 1)
    return weights / weights.sum()


def test_expected_rows_are_those_of_an_enumeration():
    """All 3³ batches of three tokens, each with its probability."""
    p = np.array([0.5, 0.3, 0.2])
    batches = np.stack(np.meshgrid(*[range(3)] * 3), -1).reshape(-1, 3)
    expected = sum(p[b].prod() * len(set(b.tolist())) for b in batches)
    assert expected_rows_touched(p, 3) == pytest.approx(expected, rel=1e-12)


def test_expected_rows_are_the_mean_of_a_simulation(rng):
    p, n = zipf(1000), 200
    rows = [len(np.unique(rng.choice(1000, size=n, p=p))) for _ in range(400)]
    error = np.std(rows) / np.sqrt(len(rows))
    assert abs(np.mean(rows) - expected_rows_touched(p, n)) < 4 * error


@pytest.mark.skipif(not find_spec(PLAYS.package), reason=f"not installed: {PLAYS.install}")
def test_a_play_in_random_order_touches_as_many_rows_as_expected_and_as_written_fewer(rng):
    """Words that come together come again: real batches are not independent draws."""
    _, words = np.unique(corpus.documents("shakespeare")[0].split(), return_inverse=True)
    p, n = np.bincount(words) / len(words), 512
    touched = [
        np.mean([len(np.unique(ids[i : i + n])) for i in range(0, len(ids) - n, n)])
        for ids in (rng.permutation(words), words)
    ]
    expected = expected_rows_touched(p, n)
    assert touched[0] == pytest.approx(expected, rel=0.02)  # drawn without replacement
    assert touched[1] < 0.97 * expected


def test_at_most_one_row_a_token_is_touched():
    """2,048 tokens of 100,000: 2.048 % at most; fewer if all rows are equally likely."""
    uniform = expected_rows_touched(np.full(100_000, 1e-5), 2048)
    assert uniform == pytest.approx(100_000 * (1 - (1 - 1e-5) ** 2048), rel=1e-9)
    assert expected_rows_touched(zipf(100_000), 2048) < uniform < 2048


@pytest.mark.parametrize(("n", "rows"), [(0, 0.0), (1, 1.0), (7, 1.0)])
def test_a_sure_token_touches_one_row(n, rows):
    assert expected_rows_touched([1.0, 0.0], n) == rows


def test_a_rare_row_keeps_its_digits():
    """One token: exactly one row, though 1 - p rounds to 1 for the second token."""
    assert expected_rows_touched([1 - 1e-20, 1e-20], 10) - 1 == pytest.approx(0, abs=1e-15)
    assert expected_rows_touched([1.0, 1e-20], 10) == pytest.approx(1 + 1e-19, rel=1e-15)


@pytest.mark.parametrize(("p", "n", "match"), [
    ([0.5, 0.4], 1, "sums to 0.9"),
    ([1.5, -0.5], 1, "has the entry -0.5"),
    ([[1.0]], 1, r"shape \(1, 1\)"),
    ([1.0], -1, "n=-1 tokens"),
])  # fmt: skip
def test_what_is_no_batch_is_refused(p, n, match):
    with pytest.raises(InputError, match=match):
        expected_rows_touched(p, n)


def last_gradient(rng, steps):
    """Row and state after ``steps`` of Adam with random gradients."""
    theta, state = rng.normal(size=4), None
    for _ in range(steps):
        theta, state = adam_step(theta, rng.normal(size=4), state, lr=0.1)
    return theta, state


@pytest.mark.parametrize("t", [1, 20])
def test_idle_steps_are_adam_s_with_gradients_of_zero(t, rng):
    theta, state = last_gradient(rng, t)
    idle = idle_adam_steps(state["m"], state["v"], 15, t=t, lr=0.1)
    for step in idle:
        before = theta
        theta, state = adam_step(theta, np.zeros(4), state, lr=0.1)
        np.testing.assert_allclose(theta - before, step, rtol=1e-9, atol=1e-15)


def test_idle_steps_are_torch_s_too(rng):
    p = torch.nn.Parameter(torch.tensor(rng.normal(size=3)))
    optimizer = torch.optim.Adam([p], lr=0.1)
    p.grad = torch.tensor(rng.normal(size=3))
    optimizer.step()
    m, v = (optimizer.state[p][key].numpy().copy() for key in ("exp_avg", "exp_avg_sq"))
    start, p.grad = p.detach().numpy().copy(), torch.zeros(3)
    for _ in range(9):
        optimizer.step()
    idle = idle_adam_steps(m, v, 9, t=1, lr=0.1)
    np.testing.assert_allclose(p.detach().numpy() - start, idle.sum(0), rtol=1e-9)


def test_long_after_the_start_the_idle_steps_sum_to_the_coasting_factor():
    idle = idle_adam_steps(0.1, 0.001, 500, t=100_000, lr=0.01)
    step = 0.01 * 0.1 / np.sqrt(0.001)
    assert -idle.sum() / step == pytest.approx(coasting_factor(0.9, 0.999), rel=1e-6)


def test_a_row_that_never_had_a_gradient_stays():
    assert not idle_adam_steps(np.zeros(3), np.zeros(3), 5, t=10, lr=0.1).any()


def test_momentum_coasts_for_nine_steps():
    """0.9 + 0.81 + ... = 0.9 / 0.1."""
    assert coasting_factor(0.9) == pytest.approx(9.0, rel=1e-12)


@pytest.mark.parametrize("betas", [(1.0, 1), (-0.1, 1), (0.9, 0.81), (0.9, 0), (0.5, 1.1)])
def test_a_row_that_never_comes_to_rest_is_refused(betas):
    with pytest.raises(ConfigError, match=f"beta1={betas[0]} must be .* beta2={betas[1]}"):
        coasting_factor(*betas)


@pytest.mark.parametrize("bad", [{"t": 0}, {"steps": -1}, {"betas": (1.0, 0.9)}, {"eps": 0.0}])
def test_numbers_outside_their_range_are_refused(bad):
    with pytest.raises(ConfigError, match="need t >= 1, steps >= 0"):
        idle_adam_steps(**{"m": [1.0], "v": [1.0], "steps": 1, "t": 1, "lr": 0.1} | bad)


def test_moments_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"m has shape \(2,\) and v has shape \(1,\)"):
        idle_adam_steps([1.0, 2.0], [1.0], 1, t=1, lr=0.1)
    with pytest.raises(InputError, match=r"v has the entry -1\.0"):
        idle_adam_steps([1.0], [-1.0], 1, t=1, lr=0.1)


@pytest.mark.parametrize("n", [2.5, float("nan"), float("inf"), 10**400])
@pytest.mark.usefixtures("unchecked")
def test_a_number_of_tokens_is_an_integer(n):
    with pytest.raises(InputError, match="tokens cannot be looked up"):
        expected_rows_touched([0.5, 0.5], n)


BAD_ADAM = [{"lr": float("nan")}, {"lr": -1.0}, {"eps": float("inf")}, {"steps": 2.5}]


@pytest.mark.parametrize("bad", [*BAD_ADAM, {"t": float("nan")}, {"betas": (0.9,)}])
@pytest.mark.usefixtures("unchecked")
def test_numbers_that_adam_does_not_have_are_refused(bad):
    with pytest.raises(ConfigError, match="all finite, t and steps integers"):
        idle_adam_steps(**{"m": [1.0], "v": [1.0], "steps": 1, "t": 1, "lr": 0.1} | bad)


def test_a_second_moment_of_zero_beside_a_first_one_is_refused():
    with pytest.raises(InputError, match=r"v is 0 at \(1,\), where m is not"):
        idle_adam_steps([0.0, 1.0], [0.0, 0.0], 1, t=1, lr=0.1)

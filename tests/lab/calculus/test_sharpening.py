import numpy as np
import pytest
import torch

from lab.calculus import sharpening
from mathlm.errors import ConfigError
from mathlm.reference import gradient

DIGITS = sharpening.digits(30)


def torch_loss(theta, X, Y):
    net = torch.nn.Sequential(torch.nn.Linear(64, 8), torch.nn.Tanh(), torch.nn.Linear(8, 10))
    torch.nn.utils.vector_to_parameters(theta, net.parameters())
    return ((net(torch.tensor(X)) - torch.tensor(Y)) ** 2).sum() / (2 * len(X))


def test_loss_is_that_of_the_same_network_in_torch(rng):
    theta = sharpening.initial(rng, scale=1.0)
    ours = sharpening.squared_loss(*DIGITS)(theta)
    assert float(ours) == pytest.approx(
        torch_loss(torch.tensor(theta), *DIGITS).item(), rel=1e-12
    )


def test_a_short_run_lowers_the_loss_and_records_it(rng):
    loss = sharpening.squared_loss(*DIGITS)
    run = sharpening.descend(loss, sharpening.initial(rng), 0.5, steps=20, every=10)
    assert run["step"].tolist() == [0, 10, 20]
    assert run["loss"][-1] < run["loss"][0] / 2
    assert run["loss"][0] == pytest.approx(0.5, abs=0.01)  # outputs near 0, one 1 a label


def test_descent_takes_the_steps_of_its_definition(rng):
    loss, theta = sharpening.squared_loss(*DIGITS), sharpening.initial(rng)
    run = sharpening.descend(loss, theta, 0.5, steps=1, every=1)
    second = loss(theta - 0.5 * gradient(loss, theta))
    np.testing.assert_allclose(run["loss"], [loss(theta), second], rtol=1e-12)


@pytest.mark.parametrize("bad", [{"step": 0.0}, {"step": 1.0, "steps": 0}])
def test_runs_that_go_nowhere_are_refused(bad, rng):
    with pytest.raises(ConfigError, match="must be positive"):
        sharpening.descend(sharpening.squared_loss(*DIGITS), sharpening.initial(rng), **bad)


def test_more_digits_than_there_are_is_an_error():
    with pytest.raises(ConfigError, match=r"count=5000 must be in 1 ... 1797"):
        sharpening.digits(5000)


def test_the_last_parameters_are_those_after_the_last_step(rng):
    loss, theta = sharpening.squared_loss(*DIGITS), sharpening.initial(rng)
    run = sharpening.descend(loss, theta, 0.5, steps=1, every=1)
    np.testing.assert_array_equal(run["theta"], theta - 0.5 * gradient(loss, theta))
    assert loss(run["theta"]) == run["loss"][-1]


def test_along_the_gradient_a_quadratic_is_its_parabola():
    """½(x² + 4y²) at (4, 1) has g = (4, 4), g·g = 32, g·Hg = 16 + 64: best step 0.4."""
    line = sharpening.along_gradient(
        lambda p: 0.5 * (p[0] * p[0] + 4 * p[1] * p[1]), np.array([4.0, 1.0]), points=7
    )
    assert line["best"] == pytest.approx(0.4)
    assert line["curvature"] == pytest.approx(2.5)
    np.testing.assert_allclose(line["losses"], line["parabola"], atol=1e-12)
    np.testing.assert_allclose(line["tangent"], 10 - 32 * line["steps"])
    assert line["steps"][[0, -1]] == pytest.approx([0, 0.96])


def test_runs_side_by_side_are_those_that_run_alone(rng):
    loss = sharpening.squared_loss(*DIGITS)
    starts = [sharpening.initial(rng, scale=s) for s in (0.1, 0.3)]
    runs = sharpening.descend_all(loss, starts, (0.5, 1.0), steps=6, every=3)
    for size in (0.5, 1.0):
        for start, run in zip(starts, runs[size], strict=True):
            alone = sharpening.descend(loss, start, size, steps=6, every=3)
            for name, column in alone.items():
                np.testing.assert_allclose(run[name], column, rtol=1e-9, atol=1e-12)


def test_the_loss_of_several_points_is_the_sum_of_their_losses(rng):
    loss = sharpening.squared_loss(*DIGITS)
    thetas = np.stack([sharpening.initial(rng) for _ in range(3)])
    assert loss(thetas) == pytest.approx(sum(loss(theta) for theta in thetas), rel=1e-12)

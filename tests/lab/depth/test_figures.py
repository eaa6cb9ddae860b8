import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.depth import figures


def test_gradients_stand_left_and_spreads_right():
    runs = {"pre-norm": {"gradient": [2.0, 1], "spread": [0.5, 0.0]}}
    left, right = figures.depth_panels(runs).axes
    assert_allclose(left.lines[0].get_ydata(), [2, 1])
    assert_allclose(right.lines[0].get_ydata(), [0.5, 1e-16])


def test_the_last_block_stands_left_and_one_depth_right():
    norms = {2: np.array([[1.0, 2], [3, 4]]), 3: np.array([[1.0, 2, 6], [3, 4, 8]])}
    left, right = figures.weight_gradients({"pre-norm": norms}, 3).axes
    assert_allclose(left.lines[0].get_xydata(), [[2, 3], [3, 7]])
    assert_allclose(right.lines[0].get_ydata(), [2, 3, 7])


def run(lr, seed, loss, warmup=0.0, kind="a", depth=4):
    return {"kind": kind, "depth": depth, "lr": lr, "seed": seed, "held_out": loss,
            "warmup": warmup}  # fmt: skip


def test_one_step_size_is_chosen_for_all_seeds():
    """0.1 is better for seed 0 and worse in the mean."""
    runs = [run(0.1, 0, 2.0), run(0.1, 1, 4.0), run(0.2, 0, 2.5), run(0.2, 1, 2.5)]
    assert figures.best_losses(runs, "a", 4) == {0: 2.5, 1: 2.5}


def test_an_infinite_loss_is_drawn_at_the_edge():
    ax = figures.losses_by_kind([run(0.1, 0, "inf"), run(0.1, 1, 2.5)], 3.3).axes[0]
    assert_allclose(ax.lines[0].get_xdata(), [figures.WORST, 2.5])


@pytest.mark.parametrize("warm", [0, 1])
def test_losses_by_rate_are_means_over_seeds(warm):
    runs = [run(lr, s, lr + s, w) for lr in (1.0, 2.0) for s in (0, 1) for w in (0.0, 0.25)]
    ax = figures.losses_by_rate(runs).axes[0]
    assert_allclose(ax.lines[warm].get_xydata(), [[1, 1.5], [2, 2.5]])

import math

import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.plot import training_run

HISTORY = [
    {"step": 1, "loss": 3.0, "lr": 0.1, "grad_norm": 2.0},
    {"step": 2, "loss": 2.5, "lr": 0.2, "skipped": 1},
    {"step": 3, "loss": 2.0, "lr": 0.1, "grad_norm": 1.0, "held_out_loss": 2.2, "margin": 0.5},
    {"step": 4, "loss": math.inf, "lr": 0.1, "grad_norm": 1.5},
]


def lines(ax):
    return {line.get_label(): line.get_xydata().tolist() for line in ax.get_lines()}


def test_each_number_stands_in_its_panel_at_its_steps():
    drawn = {ax.get_ylabel(): lines(ax) for ax in training_run(HISTORY).axes if ax.get_lines()}
    assert drawn["loss [nats]"] == {
        "training": [[1, 3], [2, 2.5], [3, 2]],  # without the one that is not finite
        "held out": [[3, 2.2]],
    }
    assert drawn["norm of the gradient"] == {"grad_norm": [[1, 2], [3, 1], [4, 1.5]]}
    assert drawn["step size"]["lr"] == [[1, 0.1], [2, 0.2], [3, 0.1], [4, 0.1]]
    assert drawn["margin"] == {"margin": [[3, 0.5]]}
    assert set(drawn) == {"loss [nats]", "norm of the gradient", "step size", "margin"}


def test_a_run_without_records_is_refused():
    with pytest.raises(InputError, match="the history is empty"):
        training_run([])


def test_what_a_policy_wrote_stands_at_its_iterations():
    rollouts = [
        {"iteration": i, "dropped": 0, "reward": 0.1 * i, "reward_std": 0.3, "group_std": 0.2,
         "kl": 1.0 * i, "kl_k3": 2.0 * i, "samples": [{"completion": "x"}], "clip_share": 0.5}
        for i in range(2)
    ]  # fmt: skip
    figure = training_run(HISTORY, rollouts=rollouts)
    drawn = {ax.get_ylabel(): ax for ax in figure.axes if ax.get_lines()}
    assert lines(drawn["reward"]) == {"reward": [[0, 0], [1, 0.1]]}
    both = {"all answers": [[0, 0.3], [1, 0.3]], "within a group": [[0, 0.2], [1, 0.2]]}
    assert lines(drawn["spread of rewards"]) == both
    assert set(lines(drawn["KL from reference [nats/text]"])) == {"estimate k₁", "estimate k₃"}
    assert drawn["clip_share"].get_xlabel() == "iteration"
    assert drawn["step size"].get_xlabel() == "step"
    assert not {"samples", "iteration", "dropped"} & set(drawn)


@pytest.mark.parametrize("last", [1, 2, 3, 200])
def test_steps_and_iterations_are_marked_at_whole_numbers(last):
    history = [{"step": i, "loss": 2.0} for i in range(1, last + 1)]
    rollouts = [{"iteration": i, "reward": 0.5} for i in range(last)]
    figure = training_run(history, rollouts=rollouts)
    figure.canvas.draw()
    for ax in (ax for ax in figure.axes if ax.lines):
        low, high = ax.get_xlim()
        marks = [x for x in ax.get_xticks() if low <= x <= high]
        assert marks
        assert all(x == round(x) for x in marks)


def test_records_without_a_finite_number_are_refused():
    with pytest.raises(InputError, match="the records hold no finite number"):
        training_run([{"step": 1, "loss": math.nan, "skipped": 0}])


def test_numbers_of_numpy_are_drawn():
    record = {"step": 1, "loss": np.float32(2.0), "lr": np.float64(0.5), "tokens": np.int64(3)}
    drawn = {ax.get_ylabel(): lines(ax) for ax in training_run([record]).axes if ax.get_lines()}
    assert drawn["loss [nats]"] == {"training": [[1, 2.0]]}
    assert drawn["tokens"] == {"tokens": [[1, 3]]}

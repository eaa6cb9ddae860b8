"""Faults that rollouts show, written by hand."""

import numpy as np
import pytest
from train.diagnosis.written_runs import ITERATIONS, ROLLOUTS, found

I = ITERATIONS  # noqa: E741
NONE = 0.0 * ITERATIONS


@pytest.mark.parametrize(("column", "broken", "healthy", "name"), [
    ("reward_std", NONE, np.where(I < 10, 0.0, 0.2), "rewards all equal"),
    ("reward", -ROLLOUTS["reward"], 0.5 + 0.2 * np.sin(7.0 * I) - 0.004 * I, "reward falls"),
    ("kl", 0.5 + NONE, 0.01 + NONE, "divergence at the start"),
    ("kl", 1.0 * I, 0.5 * I, "divergence explodes"),
    ("entropy", 2 * np.exp(-I / 5), 2 * np.exp(-I / 20), "entropy collapses"),
    ("finished", 0.9 * (I < 20), 0.1 + NONE, "no answer ends"),
    ("length", 20.0 + I, 20.0 + 0.2 * I, "answers grow"),
    ("moved", 0.2 + NONE, 0.05 + NONE, "policy moves too far in an iteration"),
    ("clip_share", 0.6 + NONE, 0.4 + NONE, "policy moves too far in an iteration"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["grpo", "ppo"])
def test_what_rollouts_show(kind, column, broken, healthy, name):
    assert found(kind, rollouts={column: broken}) == [name]
    assert found(kind, rollouts={column: healthy}) == []


def test_groups_without_spread_matter_where_answers_are_compared():
    """In GRPO; values of every token learn from them too. Once is enough said."""
    most, half = 0.9 + NONE, np.where(I % 2, 0.9, 0.6)
    assert found("grpo", rollouts={"equal_groups": most}) == ["groups without spread"]
    assert found("grpo", rollouts={"equal_groups": half}) == []
    assert found("ppo", rollouts={"equal_groups": most}) == []
    both = {"equal_groups": 1.0 + NONE, "reward_std": NONE}
    assert found("grpo", rollouts=both) == ["rewards all equal"]


def test_other_runs_have_no_rollouts():
    assert found("dpo") == []

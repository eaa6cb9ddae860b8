"""Each fault has a panel with its runs."""

import pytest

from lab.broken_runs import figures
from lab.broken_runs.columns import load

TWINS, BROKEN = load()


def test_each_fault_has_a_panel_with_all_its_runs_and_their_twins():
    some = [BROKEN[0], BROKEN[1], BROKEN[-1], BROKEN[2]]
    axes = figures.atlas(TWINS, some).axes
    assert [len(ax.lines) for ax in axes] == [2 * len(BROKEN[0].runs)] * 4 + [0, 0]
    assert axes[0].get_title() == "targets = inputs"
    assert "not in the record" in axes[2].get_title().replace("\n", " ")


@pytest.mark.parametrize(("name", "kind", "shown"), [
    ("step size × 100", "pretrain", "loss"),
    ("step size × 100", "dpo", "chosen_change"),
    ("step size × 100", "grpo", "kl"),
    ("schedule ended", "pretrain", "lr"),
])  # fmt: skip
def test_the_number_that_shows_a_fault(name, kind, shown):
    assert figures.shown_of(name, kind) == shown


def test_every_number_that_is_shown_was_recorded():
    for one in BROKEN:
        name = figures.shown_of(one.fault.name, one.fault.kind)
        assert all(figures.points(run, name)[0] for run in one.runs), one.fault
        assert all(figures.points(run, name)[0] for run in TWINS[one.fault.kind])


def test_the_table_says_how_often_a_fault_was_named():
    lines, runs = figures.table(BROKEN).splitlines(), len(BROKEN[0].runs)
    assert " ".join(lines[0].split()) == f"targets = inputs {runs}/{runs} too good to be true"
    assert len(lines) == len(BROKEN)
    assert sum("unseen: " in line for line in lines) == sum(not b.fault.shows for b in BROKEN)

"""Figures of the whole stack say the numbers that they are given."""

import base64
import re

import matplotlib.pyplot as plt
import pytest

from mathlm.plot import whole_stack as plot


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def texts(ax):
    return [text.get_text().strip() for text in ax.texts]


def test_each_step_says_what_is_left_and_what_it_took():
    (ax,) = plot.cleaning_steps({"raw": 1200, "copies": 1100, "junk": 1100}).axes
    assert texts(ax) == ["1,200", "1,100  (−100)", "1,100  (+0)"]


def test_a_training_shows_the_steps_that_were_judged():
    bits = [{"step": 1, "bits_per_byte": 4.0}, {"step": 2}, {"step": 3, "bits_per_byte": 3.0}]
    answers = [{"step": 5, "held_out_loss": 2.0}]
    pairs = [{"step": 2, "accuracy": 0.5}, {"step": 4, "accuracy": 0.75}]
    axes = plot.three_trainings(bits, answers, pairs).axes
    assert axes[0].lines[0].get_xydata().tolist() == [[1, 4], [3, 3]]
    assert axes[2].lines[0].get_ydata().tolist() == [0.5, 0.75]


def test_models_stand_in_their_order_in_every_panel():
    names = ("bits_per_byte", "answer_loss", "ended", "preferring rule", "judging rule")
    models = {
        m: dict.fromkeys((*names, "distinct words"), x) for m, x in (("b", 1.0), ("a", -2.0))
    }
    for ax in plot.models_compared(models).axes:
        assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "a"]
        assert texts(ax) == ["1.00", "-2.00"]


def test_stages_stand_from_above_with_their_seconds():
    (ax,) = plot.stage_seconds({"raw": 1.0, "pretrained": 30.0}).axes
    assert texts(ax) == ["1.0", "30.0"]
    assert ax.yaxis_inverted()


def test_a_row_that_is_off_says_by_how_much():
    (ax,) = plot.counted_and_printed(["a", "b"], [101.0, 99.9], [100.0, 100.0]).axes
    assert texts(ax) == ["+1.00 %", "−0.10 %"]
    assert ax.patches[0].get_facecolor() != ax.patches[1].get_facecolor()


def test_figures_become_images_and_are_closed():
    made = plot.figures_as_html(lambda: {"a < b": plot.stage_seconds({"raw": 1.0})})
    code = re.fullmatch(r'<img alt="(.*)" src="data:image/png;base64,(.*)">', made["a < b"])
    assert code[1] == "a &lt; b"
    assert base64.b64decode(code[2]).startswith(b"\x89PNG")
    assert plt.get_fignums() == []


def test_the_first_level_lies_at_the_bottom():
    (ax,) = plot.knowledge_stack({"sums": ("dot", "1"), "nets": ("layers", "5")}).axes
    heights = {text.get_text(): text.get_position()[1] for text in ax.texts}
    assert heights["sums"] < heights["nets"]
    assert not ax.yaxis_inverted()
    assert heights["1"] == heights["sums"]

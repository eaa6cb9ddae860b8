import pytest

from lab.model_costs import figures

FIGURES = {
    "parts": lambda: figures.stacked_parts(
        {"GPT": {"attention": 1.0, "head": 3.0}}, "parameters"
    ),
    "six": lambda: figures.rule_of_six([1, 10], {"GPT": [1.0, 1.1]}),
    "intensity": lambda: figures.intensity_lines(
        [1, 2], {"write": [1.0, 2.0]}, {"A100": 150.0}
    ),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_are_named_and_fit_a_phone(draw):
    figure = draw()
    panel = figure.axes[0]
    assert panel.get_xlabel()
    assert panel.get_ylabel() or panel.get_yticklabels()
    assert figure.get_figwidth() <= 6.4


def test_parts_stand_end_to_end_in_numbers_or_in_shares():
    sizes = {"GPT": {"attention": 1.0, "head": 3.0}}
    for shares, ends in ((False, [1, 4]), (True, [25, 100])):
        bars = figures.stacked_parts(sizes, "x", shares=shares).axes[0].patches
        assert [bar.get_x() + bar.get_width() for bar in bars] == ends

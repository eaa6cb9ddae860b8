import pytest

from lab.interpretability import figures

HISTORY = [
    {"step": s, "told": 3.0 - s, "new": 3.0}
    | {"previous_token": [[s / 2]], "induction": [[0], [s / 2]]}
    for s in (0, 1, 2)
]
FIGURES = {
    "weights": lambda: figures.weights_and_writes(["a", "b"], [0.9, 0.1], [0.2, 0.8], "b"),
    "forming": lambda: figures.induction_forming(HISTORY, {"one layer": HISTORY}, 3.4),
    "swaps": lambda: figures.estimates_of_swaps([[0.0, 1.0]], [[0.1, 0.8]], "nats"),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_figures_have_labels_and_fit_a_phone(draw):
    figure = draw()
    assert all(ax.get_xlabel() for ax in figure.axes)
    assert all(ax.get_ylabel() for ax in figure.axes)
    assert figure.get_figwidth() <= 6.4 or len(figure.axes) > 1


def test_the_score_of_a_layer_is_that_of_its_best_head():
    left, right = FIGURES["forming"]().axes
    assert right.lines[1].get_ydata().tolist() == [0, 0.5, 1]
    assert left.lines[0].get_ydata().tolist() == [3, 2, 1]


def test_keys_stand_in_the_order_of_the_text():
    ax = FIGURES["weights"]().axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    assert ax.yaxis_inverted()


def test_what_is_foretold_stands_over_what_was_measured():
    points = FIGURES["swaps"]().axes[0].lines[1]
    assert points.get_xdata().tolist() == [0.0, 1.0]
    assert points.get_ydata().tolist() == [0.1, 0.8]

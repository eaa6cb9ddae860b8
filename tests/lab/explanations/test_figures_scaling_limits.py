import numpy as np

from lab.explanations import figures
from mathlm.scaling import Span


def test_a_bill_is_drawn_from_its_low_to_its_high_end():
    fig = figures.bill_ranges({"one": Span(1, 2, 4), "two": Span(10, 20, 40)},
                           {"one": 3, "two": 30}, "hours")  # fmt: skip
    lines = [line.get_xdata().tolist() for line in fig.axes[0].lines]
    assert lines == [[1, 4], [2], [3], [10, 40], [20], [30]]


def test_the_wall_has_a_line_for_each_rule_and_a_point_for_each_run():
    compute = np.array([1e20, 1e30])
    fig = figures.data_wall(
        compute, {"20": [1e10, 1e15]}, {"a": (1e24, 1e12)}, Span(1e14, 3e14, 1e15)
    )
    wall, rule, run = fig.axes[0].lines
    assert wall.get_ydata() == [3e14, 3e14]
    assert rule.get_ydata().tolist() == [1e10, 1e15]
    assert (run.get_xdata()[0], run.get_ydata()[0]) == (1e24, 1e12)


def test_names_of_runs_stand_on_alternate_sides():
    runs = {"a": (1e24, 1e12), "b": (2e24, 2e12)}
    texts = (
        figures.data_wall([1e20, 1e30], {"20": [1e10, 1e15]}, runs, Span(1, 2, 3)).axes[0].texts
    )
    assert [text.get_ha() for text in texts] == ["right", "left"]

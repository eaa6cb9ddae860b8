import re
import shutil
import subprocess

import numpy as np
import pytest

from lab.attention import demos, figures
from mathlm.errors import InputError

WORDS = ["the", "<cat>", "sat"]
WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7], [0.0, 1.0, 0.0]])
DEMOS = {
    "softmax": demos.softmax_temperature_demo(),
    "query-key": demos.query_key_demo(),
    "weights": demos.attention_weights_demo(WORDS, WEIGHTS, query=1),
}
every_demo = pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS)


def shown(demo):
    """Text of the elements that a reader sees before any script runs."""
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(r'data-name="([\w-]+)">([^<]*)</b>', html)


def values(demo, name):
    return [text for key, text in shown(demo) if key == name]


def test_softmax_demo_shows_the_weights_of_its_scores():
    """exp(ln 3) : exp(0) = 3 : 1; H = ln 4 - (3/4) ln 3 = 0.562."""
    demo = demos.softmax_temperature_demo([np.log(3), 0.0])
    assert values(demo, "weight") == ["0.750", "0.250"]
    assert values(demo, "entropy") == ["0.562"]


def test_softmax_demo_starts_at_temperature_one():
    assert values(DEMOS["softmax"], "temperature-value") == ["1"]
    assert values(DEMOS["softmax"], "weight") == ["0.041", "0.823", "0.015", "0.009", "0.111"]


def test_query_key_demo_shows_the_printed_example():
    """0.56 + 0.15 + 0.24 + 0.02 = 0.97, and 0.97 / 2 = 0.485."""
    demo = DEMOS["query-key"]
    assert values(demo, "product") == ["0.56", "0.15", "0.24", "0.02"]
    assert (values(demo, "dot"), values(demo, "scaled")) == (["0.97"], ["0.485"])


def test_query_key_demo_has_no_minus_zero_and_no_cosine_of_nothing():
    demo = demos.query_key_demo([-1.0, 0.0], [0.0, 0.0])
    assert values(demo, "dot") == ["0.00"]
    assert values(demo, "cosine") == ["undefined"]


def test_weights_demo_shows_the_row_of_its_query():
    demo = DEMOS["weights"]
    assert values(demo, "weight") == ["0.100", "0.200", "0.700"]
    assert (values(demo, "query"), values(demo, "best")) == (["&lt;cat&gt;"], ["sat"])
    assert demo.state["weights"] == WEIGHTS.tolist()


@every_demo
def test_html_is_the_same_every_time(demo):
    assert demo._repr_html_() == demo._repr_html_()


@every_demo
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_script_parses(demo, tmp_path):
    path = tmp_path / "demo.js"
    script = re.search(r"<script>(.*)</script>", demo._repr_html_(), re.DOTALL)[1]
    path.write_text(script, encoding="utf-8")
    subprocess.run(["node", "--check", str(path)], check=True)


@every_demo
def test_script_uses_only_names_that_the_view_has(demo):
    used = re.findall(r'\b(?:one|all|text|bar|numbers)\("([\w-]+)"', demo.script)
    html = demo._repr_html_().split("<script>")[0]
    assert used
    assert all(f'data-name="{name}"' in html for name in used)


def test_demo_arguments_must_fit():
    with pytest.raises(InputError, match="width 2 and key 1"):
        demos.query_key_demo([1.0, 2.0], [1.0])
    with pytest.raises(InputError, match="temperature=0 "):
        demos.softmax_temperature_demo([1.0], temperature=0)
    with pytest.raises(InputError, match=r"shape \(3, 3\) for 2 words"):
        demos.attention_weights_demo(WORDS[:2], WEIGHTS)


FIGURES = {
    "bottleneck": lambda: figures.bottleneck([1, 2], [1.0, 0.5], 50),
    "temperature": lambda: figures.temperature_sweep(
        [1.0, 2.0], [[0.7, 0.3], [0.6, 0.4]], [1, 0]
    ),
    "kernel": lambda: figures.kernel_regression([0, 1], [0, 1], [0, 1], {"h = 1": [0.4, 0.6]}),
    "plane": lambda: figures.value_plane(np.eye(3)[:, :2], WEIGHTS[0], [0.5, 0.25]),
    "patterns": lambda: figures.attention_patterns({str(i): WEIGHTS for i in range(4)}),
    "cost": lambda: figures.attention_cost([1, 10], [4, 40], [2, 200]),
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_axes_are_labeled_and_the_figure_fits_a_phone(draw):
    figure = draw()
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert all(ax.get_xlabel() and ax.get_ylabel() for ax in panels)
    assert figure.get_figwidth() <= 6.4


def test_saturation_has_a_line_for_each_statistic():
    stats = {"entropy": [3, 1], "mean": [0.2, 0.1], "median": [0.2, 1e-3]}
    top, bottom = figures.saturation([1, 4], stats, stats).axes
    assert (len(top.lines), len(bottom.lines)) == (2, 4)


def test_recall_shows_one_curve_for_each_width_in_both_panels():
    runs = {16: [0.4, 0.2], 64: [0.3, 0.1]}
    left, right = figures.recall_by_learning_rate([0.1, 1.0], runs, runs).axes
    np.testing.assert_array_equal(left.lines[1].get_ydata(), [0.3, 0.1])
    assert [text.get_text() for text in right.get_legend().texts] == [
        "$d_k$ = 16",
        "$d_k$ = 64",
    ]


def test_several_seeds_are_drawn_as_mean_and_range():
    seeds = {16: [[0.4, 0.2], [0.2, 0.4]]}
    left, _ = figures.recall_by_learning_rate([0.1, 1.0], seeds, seeds).axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), [0.3, 0.3])
    band = left.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.2, 0.4)

import math
import re

import pytest
from plot.node import needs_node, run_script

from lab.features import capacity, demos
from lab.features.demos import expected_errors
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value) => { out[name] = value; };
const one = (name) => elements[name] = elements[name] || {
  value: String(values[name]),
};
const changed = () => {}, reset = () => {};
"""


def written(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)[0]


def test_without_scripts_it_says_what_the_formula_of_the_book_says():
    """44 of 100,000 features in 4096 dimensions, read at one half."""
    html = demos.readout_threshold_demo()._repr_html_().split("<script>")[0]
    assert written(html, "all") == f"{capacity.readout_success(4096, 100_000, 44):.2f}"
    assert written(html, "rule") == f"{capacity.readout_rule(4096, 100_000):.0f}"
    assert written(html, "noise") == f"{math.sqrt(44 / 4096):.3f}"


def test_errors_at_a_threshold_of_two_deviations_are_those_of_the_tables():
    """D = 16 k and θ = ½: noise of ¼, two deviations, Q(2) = 0.02275."""
    _, false, _ = expected_errors(160, 1010, 10, 0.5)
    assert false == pytest.approx(1000 * 0.0227501319)
    missed, _, right = expected_errors(160, 11, 11, 0.5)
    assert missed == pytest.approx(11 * 0.0227501319)
    assert right == pytest.approx((1 - 0.0227501319) ** 11)


@needs_node
@pytest.mark.parametrize(
    ("width", "count", "active", "threshold"),
    [(12, 5, 44, 0.5), (9, 3, 1, 0.3), (6, 2, 400, 0.7), (14, 7, 120, 0.62)],
)
def test_the_script_says_what_python_says(width, count, active, threshold):
    values = {"width": width, "count": count, "active": active, "threshold": threshold}
    out = run_script(STUB, demos.readout_threshold_demo(), values)
    html = demos.readout_threshold_demo(**values)._repr_html_().split("<script>")[0]
    for name in ("noise", "missed", "false", "all", "rule", "active-value", "count-value"):
        assert out[name] == written(html, name)
    absent, present, rule = out["bells"]["marks"]
    D, k = 2**width, min(active, 10**count)
    for curve, middle, variance in ((absent, 0, k / D), (present, 1, (k - 1) / D)):
        for x, y in curve["at"]:
            spread = max(math.sqrt(variance), 0.004)
            assert y == pytest.approx(math.exp(-((x - middle) ** 2) / (2 * spread**2)))
    assert [x for x, _ in rule["at"]] == [threshold] * 2


@needs_node
def test_the_threshold_can_be_dragged_within_its_slider():
    values = {"width": 12, "count": 5, "active": 44, "threshold": 0.5}
    out = run_script(STUB, demos.readout_threshold_demo(), values, "handles[0].move([1.2, 0]);")
    assert out["threshold-value"] == "0.90"


def test_what_no_slider_can_show_is_refused():
    with pytest.raises(InputError, match="active=0 must be from 1 to 400"):
        demos.readout_threshold_demo(active=0)


def test_errors_are_fewest_where_the_weighted_bells_cross():
    """Equal densities: (m - k) exp(-θ²/2σ²) = k exp(-(1 - θ)²/2σ²), σ² = k/D."""
    best = 0.5 + 44 / 4096 * math.log((100_000 - 44) / 44)
    errors = [sum(expected_errors(4096, 100_000, 44, best + d)[:2]) for d in (-0.02, 0, 0.02)]
    assert errors[1] < min(errors[0], errors[2])

import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.neural_networks import demos
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { (out[name] = out[name] || [])[i] = value; };
const slots = {}, clicks = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); },
  addEventListener(event, act) { clicks[name] = act; } };
const changed = () => {}, reset = () => {};
"""


def shown(demo, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', demo._repr_html_())


def run(demo, then="", **values):
    return run_script(STUB, demo, values, then)


def marks(out, name, kind):
    return [m for m in out[name]["marks"] if m["kind"] == kind]


def test_still_view_shows_value_and_slope():
    """SiLU at 0: value 0, slope 1/2; ten halves are 0.00098."""
    demo = demos.activation_demo(which=2, z=0.0)
    assert (shown(demo, "value"), shown(demo, "slope")) == (["0.0000"], ["0.5000"])
    assert shown(demo, "chain") == ["0.00098"]


def test_slopes_of_the_curves_are_those_of_differences():
    demo = demos.activation_demo()
    for curve in demo.state["curves"][1:]:  # ReLU, the first, has a corner
        numeric = np.gradient(curve["value"], demo.state["grid"])
        np.testing.assert_allclose(curve["slope"][1:-1], numeric[1:-1], atol=2e-3)


@needs_node
@pytest.mark.parametrize("which", range(5))
def test_script_shows_what_the_still_view_does(which):
    demo = demos.activation_demo(which=which, z=1.25)
    out = run(demos.activation_demo(), which=which, z=1.25)
    assert (out["value"], out["slope"]) == (shown(demo, "value"), shown(demo, "slope"))


@pytest.mark.parametrize("options", [{"which": 5}, {"which": -1}, {"z": 4.5}, {"z": np.nan}])
def test_activation_demo_refuses_what_it_cannot_show(options):
    with pytest.raises(InputError, match=r"must lie in 0\.\.4"):
        demos.activation_demo(**options)


def test_still_line_gets_three_of_four():
    """x1 + x2 > 1/2 is OR, which differs from XOR at (1, 1)."""
    demo = demos.xor_line_demo()
    assert shown(demo, "output") == ["0", "1", "1", "1"]
    assert shown(demo, "right") == ["3"]


def test_no_line_gets_all_four_right(rng):
    draws = rng.uniform(-3, 3, size=(300, 3))
    counts = [int(shown(demos.xor_line_demo((u, v), b), "right")[0]) for u, v, b in draws]
    assert max(counts) == 3


@needs_node
@pytest.mark.parametrize("line", [(1.0, 1.0, -0.5), (1.0, 1.0, -1.5), (-2.0, 1.5, 0.3)])
def test_script_counts_as_the_still_view_does(line):
    demo = demos.xor_line_demo(line[:2], line[2])
    out = run(demo, w1=line[0], w2=line[1], b=line[2])
    assert (out["output"], out["right"]) == (shown(demo, "output"), shown(demo, "right"))


@needs_node
def test_script_shades_the_half_plane():
    """x + 2y > 1 cuts the square from -0.7 to 1.7 at (1.7, -0.35) and (-0.7, 0.85)."""
    out = run(demos.xor_line_demo(), w1=1.0, w2=2.0, b=-1.0)
    corners = sorted(marks(out, "plane", "area")[0]["at"])
    expected = [[-0.7, 0.85], [-0.7, 1.7], [1.7, -0.35], [1.7, 1.7]]
    np.testing.assert_allclose(corners, expected)


@needs_node
def test_a_line_that_is_dragged_passes_through_its_point():
    then = "handles[0].move([0.5, 0.9]);"
    out = run(demos.xor_line_demo(), then, w1=1.0, w2=1.0, b=-0.5)
    ends = np.array(marks(out, "plane", "line")[0]["at"])
    np.testing.assert_allclose(ends[:, 1], 0.9, atol=0.05)
    assert out["w1-value"] == ["0.0"]


@needs_node
@pytest.mark.parametrize("seed", range(3))
def test_the_layer_of_the_script_is_two_relu_units(seed):
    """h = relu(W x + b) with rows of W of length 2 that point away from the middle."""
    points = np.random.default_rng(seed).uniform(-0.4, 1.4, size=(3, 2))
    n = points[:2] - 0.5
    W = 2 * n / np.linalg.norm(n, axis=1, keepdims=True)
    h = np.maximum(0, np.array(demos.BITS) @ W.T - (W * points[:2]).sum(1))
    demo = demos.bent_plane_demo(points.tolist())
    out = run(demo)
    dots = [m["at"][0] for m in marks(out, "hidden", "dots")]
    np.testing.assert_allclose(dots, h, atol=1e-8)
    np.testing.assert_allclose(demos.bent_layer(demos.BITS, points[:2]), h, atol=1e-12)
    said = (h @ points[2] < points[2] @ points[2]).astype(int)
    assert out["output"] == [str(v) for v in said] == shown(demo, "output")
    assert out["hidden-value"] == shown(demo, "hidden-value")


@needs_node
def test_two_folds_and_a_line_solve_xor():
    out = run(demos.bent_plane_demo(), "clicks.solve();")
    assert (out["output"], out["right"]) == (["0", "1", "1", "0"], ["4"])
    assert shown(demos.bent_plane_demo(demos.SOLUTION), "right") == ["4"]


def test_the_fold_does_not_begin_solved():
    assert int(shown(demos.bent_plane_demo(), "right")[0]) < 4


def test_folds_without_a_direction_are_refused():
    with pytest.raises(InputError, match="not the middle"):
        demos.bent_plane_demo(((0.5, 0.5), (1, 1), (1, 1)))


@pytest.mark.parametrize(("w", "b"), [((4.0, 0.0), 0.0), ((0.0, 0.0), float("nan"))])
def test_lines_out_of_range_are_refused(w, b):
    with pytest.raises(InputError, match="between -3 and 3"):
        demos.xor_line_demo(w, b)

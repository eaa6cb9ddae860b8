import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.estimation import demos
from mathlm.errors import InputError
from mathlm.reference import kl_divergence, normal_log_density, softmax

X = np.linspace(-8, 8, 81)
P = 0.6 * softmax(normal_log_density(X, -2.5, 0.7)) + 0.4 * softmax(normal_log_density(X, 2, 1))
DEMO = demos.kl_demo(X, P)
FAR = np.linspace(-12, 12, 97)  # where p is less than 1e-20 of its peak
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d), text = (name, value) => { out[name] = value; };
const slots = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); },
  min: { mean: -4, std: 0.3 }[name], max: { mean: 4, std: 5 }[name] };
const bar = (name, share) => { out[name] = share; };
const changed = () => {}, reset = () => {};
"""


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)<', html)[-1].replace("−", "-")


def test_kl_demo_shows_both_directions():
    q = softmax(normal_log_density(X, 0.0, 2.0))
    assert shown(DEMO, "forward") == f"{kl_divergence(P, q):.3f}"
    assert shown(DEMO, "reverse") == f"{kl_divergence(q, P):.3f}"


@needs_node
@pytest.mark.parametrize(("mean", "std"), [(0.0, 2.0), (-2.5, 0.7), (3.0, 5.0)])
def test_script_and_still_view_of_kl_agree(mean, std):
    demo = demos.kl_demo(X, P, mean, std)
    out = run_script(STUB, DEMO, {"mean": mean, "std": std})
    for name in ("forward", "reverse"):
        assert float(out[name]) == pytest.approx(float(shown(demo, name)), abs=0.0011)


def curves(out, name, kind="line"):
    return [np.array(m["at"], float) for m in out[name]["marks"] if m["kind"] == kind]


@needs_node
@pytest.mark.parametrize(("mean", "std"), [(0.0, 2.0), (-2.5, 0.7)])
def test_the_areas_of_the_integrands_are_the_divergences(mean, std):
    q = softmax(normal_log_density(X, mean, std))
    out, dx = run_script(STUB, DEMO, {"mean": mean, "std": std}), X[1] - X[0]
    forward, reverse = (curve[:, 1] for curve in curves(out, "integrands"))
    assert forward.sum() * dx == pytest.approx(kl_divergence(P, q), rel=1e-4)
    assert reverse.sum() * dx == pytest.approx(kl_divergence(q, P), rel=1e-4)
    for found, expected in zip((forward, reverse), demos.integrands(X, P, q), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@needs_node
def test_the_curve_that_is_drawn_is_a_normal_density():
    (curve,) = curves(run_script(STUB, DEMO, {"mean": 1.0, "std": 0.8}), "densities")
    np.testing.assert_allclose(curve[:, 1], np.exp(normal_log_density(X, 1.0, 0.8)), atol=1e-6)


@needs_node
def test_both_points_of_the_curve_can_be_dragged():
    then = "handles[0].move([1.5, 0]); handles[1].move([2.5, 0]); handles[1].move([9, 0]);"
    out = run_script(STUB, DEMO, {"mean": 0, "std": 2}, then)
    assert (out["mean-value"], out["std-value"]) == ("1.5", "5.0")


@pytest.mark.parametrize(
    ("v", "expected"), [(0.03, 0.05), (1, 1), (1.1, 2), (7, 10), (480, 500)]
)
def test_ends_of_axes_are_rounded_up(v, expected):
    assert demos.round_up(v) == pytest.approx(expected)


def test_script_uses_only_names_that_the_view_has():
    used = re.findall(r'\b(?:one|all|text|bar|numbers)\("([\w-]+)"', DEMO.script)
    html = DEMO._repr_html_().split("<script>")[0]
    assert used
    assert all(f'data-name="{name}"' in html for name in used)


def test_html_is_the_same_every_time():
    assert DEMO._repr_html_() == DEMO._repr_html_()


def test_demo_arguments_must_fit():
    with pytest.raises(InputError, match=r"x \(80,\) and p \(81,\)"):
        demos.kl_demo(X[1:], P)
    with pytest.raises(InputError, match=r"mean=0\.0 or std=9\.0 is out of the range"):
        demos.kl_demo(X, P, 0.0, 9.0)


@needs_node
def test_a_truth_with_far_tails_has_finite_divergences():
    p = softmax(normal_log_density(FAR, -2.5, 0.7))
    q = softmax(normal_log_density(FAR, 0.0, 2.0))
    out = run_script(STUB, demos.kl_demo(FAR, p), {"mean": 0, "std": 2})
    assert float(out["forward"]) == pytest.approx(kl_divergence(p, q), abs=1e-3)
    assert float(out["reverse"]) == pytest.approx(kl_divergence(q, p), abs=2e-3)

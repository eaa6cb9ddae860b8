import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from plot.node import needs_node, run_script

from lab.optimization import demos
from lab.optimization.demos import LANDSCAPES, METHODS, level_path
from mathlm import optim, reference
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {};
const text = (name, value) => { out[name] = value; };
const one = (name) => ({ value: String(values[name]), valueAsNumber: values[name],
  setAttribute(key, content) { out[`${name}.${key}`] = content; }, addEventListener() {} });
const all = () => [], changed = () => {}, reset = () => {};
"""


def run(demo, **values):
    return run_script(STUB, demo, values)


def shown(html, name):
    return re.search(rf'data-name="{name}">([^<]*)<', html)[1]


def points(text):
    return np.array([pair.split(",") for pair in text.split(" ")], dtype=float)


def size(text):
    """The number at the end of a line, which is written with a real minus sign."""
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("name", LANDSCAPES)
def test_gradients_of_the_landscapes_match_central_differences(name, rng):
    land = LANDSCAPES[name]
    for point in rng.normal(size=(3, 2)):
        numeric = reference.numerical_gradient(land["f"], point)
        assert_allclose(land["g"](point), numeric, rtol=1e-6, atol=1e-6)


@needs_node
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LANDSCAPES)
def test_script_walks_the_path_of_the_reference(name, method):
    rate = -3 if name == "Rosenbrock's valley" else -1.5
    demo = demos.optimizer_demo(name, method, rate=rate, beta=0.8)
    choice = {"landscape": list(LANDSCAPES).index(name), "method": list(METHODS).index(method)}
    out = run(demo, rate=rate, beta=0.8, **choice)
    html = demo._repr_html_()
    still = re.search(r'class="path" data-name="path" points="([^"]*)"', html)[1]
    assert_allclose(points(out["path.points"]), points(still), atol=0.11)
    assert out["first"] == shown(html, "first")
    assert_allclose(size(out["last"]), size(shown(html, "last")), rtol=0.06, atol=1e-12)
    assert out["levels.d"] == level_path(name)


@needs_node
def test_a_path_that_diverges_is_said_to():
    out = run(demos.optimizer_demo(), landscape=0, method=0, rate=0, beta=0)
    assert (out["first"], out["last"]) == ("never", "diverged")


@needs_node
def test_script_draws_the_still_schedule():
    demo = demos.schedule_demo(warmup=100, final=0.1)
    html = demo._repr_html_()
    out = run(demo, shape=2, warmup=100, final=0.1)
    still = re.search(r'data-name="curve" points="([^"]*)"', html)[1]
    assert_allclose(points(out["curve.points"]), points(still), atol=0.11)
    assert [out[n] for n in ("half", "end")] == [shown(html, n) for n in ("half", "end")]
    assert float(out["mean"]) == pytest.approx(float(shown(html, "mean")), abs=0.002)


@needs_node
def test_schedule_is_that_of_the_package():
    eta = optim.warmup_cosine(peak=1.0, warmup=100, steps=1000, final=0.1)
    out = run(demos.schedule_demo(100, 0.1), shape=2, warmup=100, final=0.1)
    curve = 1 - points(out["curve.points"])[:, 1] / 160
    assert_allclose(curve / 0.95, [eta(t) for t in range(0, 1001, 5)], atol=0.001)


@needs_node
def test_inverse_root_is_at_its_peak_when_the_rise_ends():
    out = run(demos.schedule_demo(), shape=4, warmup=250, final=0)
    assert (out["half"], out["end"]) == ("0.707", "0.500")


@pytest.mark.parametrize("demo", [demos.optimizer_demo(), demos.schedule_demo()], ids=repr)
def test_demo_is_the_same_every_time_and_readable_without_scripts(demo):
    html = demo._repr_html_()
    assert html == demo._repr_html_()
    assert 'class="still"' in html
    assert 'role="img"' in html


def test_names_and_numbers_out_of_reach_are_refused():
    with pytest.raises(InputError, match="landscape='moon' must be one of ravine"):
        demos.optimizer_demo("moon")
    with pytest.raises(InputError, match=r"got 1 and 0\.9"):
        demos.optimizer_demo(rate=1)
    with pytest.raises(InputError, match=r"got 600, 0\.0"):
        demos.schedule_demo(warmup=600)

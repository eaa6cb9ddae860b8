import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from plot.node import needs_node, run_script

from lab.optimization import demos
from lab.optimization.demos import LANDSCAPES, METHODS, RATES, level_lines, stays_below
from mathlm import optim, reference
from mathlm.errors import InputError, NonFiniteLossError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, clicks = {};
const text = (name, value, i = 0) => { (out[name] = out[name] || [])[i] = value; };
const rate = (k) => String((values.rates || [])[k]);
const sliders = [0, 1, 2, 3, 4].map((k) => ({ min: "-4", value: rate(k) }));
const slots = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); },
  addEventListener(event, act) { clicks[name] = act; } };
const all = () => sliders, numbers = () => sliders.map((s) => Number(s.value));
const changed = () => {}, reset = () => {};
"""


def run(demo, then="", **values):
    return run_script(STUB, demo, values, then)


def race(landscape="ravine", rates=RATES, beta=0.9, step=200, then=""):
    at = {"landscape": list(LANDSCAPES).index(landscape), "rates": list(rates)}
    return run(demos.optimizer_demo(landscape, [-3] * 5), then, **at, beta=beta, step=step)


def marks(out, name, kind):
    """What a picture shows of one kind, as arrays."""
    found = [mark["at"] for mark in out[name]["marks"] if mark["kind"] == kind]
    return [np.array(at, dtype=float) for at in found]


def path_of(landscape, method, rate, beta):
    land, (step, numbers) = LANDSCAPES[landscape], METHODS[method](beta)
    start = np.array(land["start"])
    return reference.descend(land["g"], start, step, 200, lr=10.0**rate, **numbers)


def shown_all(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)


def shown(html, name):
    return shown_all(html, name)[0]


@pytest.mark.parametrize("name", LANDSCAPES)
def test_gradients_of_the_landscapes_match_central_differences(name, rng):
    land = LANDSCAPES[name]
    for point in rng.normal(size=(3, 2)):
        numeric = reference.numerical_gradient(land["f"], point)
        assert_allclose(land["g"](point), numeric, rtol=1e-6, atol=1e-6)


@needs_node
@pytest.mark.parametrize("name", LANDSCAPES)
def test_script_walks_the_paths_of_the_reference(name):
    rates = [-3.0] * 5 if name == "Rosenbrock's valley" else [-1.5] * 5
    out = race(name, rates, beta=0.8)
    for method, found in zip(METHODS, marks(out, "plane", "line")[1:], strict=True):
        assert_allclose(found, path_of(name, method, rates[0], 0.8), rtol=1e-8, atol=1e-10)
    still = demos.optimizer_demo(name, rates, beta=0.8)._repr_html_()
    assert out["first"] == shown_all(still, "first")
    assert out["winner"] == shown_all(still, "winner")


@needs_node
def test_the_race_shows_the_loss_of_every_step_above_the_minimum():
    out = race("saddle", step=7)
    for k, method in enumerate(METHODS):
        path = path_of("saddle", method, RATES[k], 0.9)[:8]
        curve = marks(out, "race", "line")[1 + k]
        assert_allclose(curve[:, 0], range(8))
        assert_allclose(curve[:, 1], LANDSCAPES["saddle"]["f"](path) + 0.25, atol=1e-12)


@needs_node
@pytest.mark.parametrize("name", LANDSCAPES)
def test_level_lines_of_script_and_still_view_have_the_height_of_a_level(name):
    land = LANDSCAPES[name]
    for lines, size in ((marks(race(name), "plane", "line")[0], 65), (level_lines(name), 40)):
        lines = np.array(lines)
        x, y = (np.linspace(*land["window"][2 * i : 2 * i + 2], n) for i, n in
                ((0, size), (1, {65: 45, 40: 30}[size])))  # fmt: skip
        grid = land["f"](np.stack(np.meshgrid(x, y), axis=-1))
        root = (land["f"](lines[np.isfinite(lines[:, 0])]) - grid.min()).clip(0) ** 0.25
        level = root * 11 / (grid.max() - grid.min()) ** 0.25
        assert np.quantile(np.abs(level - level.round()), 0.95) < 0.06


@needs_node
def test_a_path_that_diverges_is_said_to():
    out = race(rates=[0.0] * 5, beta=0)
    assert (out["first"][0], out["last"][0]) == ("none", "diverged")


@needs_node
def test_the_best_rate_of_each_is_where_the_race_starts():
    out = race(rates=[-3.0] * 5, then="clicks.best(); out.best = numbers();")
    assert out["best"] == pytest.approx(RATES)


def test_no_rate_of_the_sliders_brings_gradient_descent_there_sooner():
    def first(rate):
        with np.errstate(all="ignore"):
            try:
                path = path_of("ravine", "gradient descent", rate, 0.9)
            except NonFiniteLossError:
                return 999
        found = stays_below(LANDSCAPES["ravine"]["f"](path))
        return 999 if found is None else found

    steps = [first(-4 + q / 20) for q in range(81)]
    assert min(steps) == first(RATES[0]) == 55


@needs_node
def test_the_start_can_be_dragged_and_the_race_played():
    out = race(step=0, then="handles[0].move([-2, 0.5]); out.play();")
    lines = marks(out, "plane", "line")[1:]
    assert all(found[0].tolist() == [-2.0, 0.5] and len(found) == 201 for found in lines)


@pytest.mark.parametrize(
    ("loss", "step"), [([1, 0.1, 0.001], 2), ([0, 1, 0], 2), ([0, 0], 0), ([0, 1], None)]
)
def test_a_loss_that_comes_back_up_has_not_arrived(loss, step):
    assert stays_below(np.array(loss, dtype=float)) == step


@needs_node
def test_script_draws_the_still_schedule():
    demo = demos.schedule_demo(warmup=100, final=0.1)
    html = demo._repr_html_()
    out = run(demo, shape=2, warmup=100, final=0.1)
    (t, eta), _ = marks(out, "curve", "line")[1].T, html
    cosine = 0.1 + 0.45 * (1 + np.cos(np.pi * (t - 100) / 900))
    assert_allclose(eta, np.where(t < 100, (t + 1) / 101, cosine), atol=1e-12)
    assert [out[n][0] for n in ("half", "end")] == [shown(html, n) for n in ("half", "end")]
    assert float(out["mean"][0]) == pytest.approx(float(shown(html, "mean")), abs=0.002)


@needs_node
def test_schedule_is_that_of_the_package():
    eta = optim.warmup_cosine(peak=1.0, warmup=100, steps=1000, final=0.1)
    out = run(demos.schedule_demo(100, 0.1), shape=2, warmup=100, final=0.1)
    curve = marks(out, "curve", "line")[1]
    assert_allclose(curve[:, 1], [eta(t) for t in range(0, 1001, 5)], atol=1e-12)


@needs_node
def test_inverse_root_is_at_its_peak_when_the_rise_ends():
    out = run(demos.schedule_demo(), shape=4, warmup=250, final=0)
    assert (out["half"], out["end"]) == (["0.707"], ["0.500"])


@pytest.mark.parametrize("demo", [demos.optimizer_demo(), demos.schedule_demo()], ids=repr)
def test_demo_is_the_same_every_time_and_readable_without_scripts(demo):
    html = demo._repr_html_()
    assert html == demo._repr_html_()
    assert 'class="still"' in html
    assert 'role="img"' in html


def test_names_and_numbers_out_of_reach_are_refused():
    with pytest.raises(InputError, match="landscape='moon' must be one of ravine"):
        demos.optimizer_demo("moon")
    with pytest.raises(InputError, match=r"got .* and 0\.9"):
        demos.optimizer_demo(rates=[0, 0, 0, 0, 1])
    with pytest.raises(InputError, match="rates must be 5 numbers"):
        demos.optimizer_demo(rates=[0])
    with pytest.raises(InputError, match=r"got 600, 0\.0"):
        demos.schedule_demo(warmup=600)

import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.probability import demos
from mathlm.errors import InputError
from mathlm.reference import normal_log_density, sum_distribution

DEMOS = {
    "cross-entropy": demos.cross_entropy_demo(),
    "dice": demos.dice_demo(),
}
every_demo = pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS)
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d), text = (name, value) => { out[name] = value; };
const slots = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); } };
const changed = () => {}, reset = () => {};
"""


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)<', html)[-1].replace("−", "-")


def run(demo, then="", **values):
    return run_script(STUB, demo, values, then)


def test_cross_entropy_demo_starts_as_printed():
    """-ln 0.7 = 0.357 nats = 0.515 bits; 1 / 0.7 = 1.43."""
    demo = DEMOS["cross-entropy"]
    assert [shown(demo, n) for n in ("loss", "bits", "choices")] == ["0.36", "0.51", "1.43"]
    assert shown(demo, "slope") == "-0.30"


def test_dice_demo_shows_the_moments_of_the_sum():
    """Ten dice: mean 35, variance 10 · 35/12 = 29.17."""
    demo = demos.dice_demo(10)
    assert (shown(demo, "mean"), shown(demo, "sd")) == ("35.0", "5.40")


@needs_node
@pytest.mark.parametrize("p", [0.01, 0.7, 1.0])
def test_script_and_still_view_of_the_loss_agree(p):
    demo, out = demos.cross_entropy_demo(p), run(DEMOS["cross-entropy"], p=p)
    for name in ("loss", "bits", "choices"):
        assert abs(float(out[name])) == float(shown(demo, name))


@needs_node
@pytest.mark.parametrize("n", [1, 2, 30])
def test_script_and_still_view_of_dice_agree(n):
    demo, out = demos.dice_demo(n), run(DEMOS["dice"], n=n)
    assert [out[k] for k in ("mean", "sd", "gap")] == [
        shown(demo, k) for k in ("mean", "sd", "gap")
    ]
    bars, bell = out["sums"]["marks"]
    exact = sum_distribution(np.full(6, 1 / 6), n)
    np.testing.assert_allclose([b[3] for b in bars["at"]], exact, atol=1e-9)
    assert [b[0] for b in bars["at"]] == [n + k - 0.5 for k in range(len(exact))]
    x, y = np.array(bell["at"]).T
    np.testing.assert_allclose(y, np.exp(normal_log_density(x, 3.5 * n, np.sqrt(n * 35 / 12))))


@needs_node
def test_the_loss_can_be_dragged_along_its_curve():
    out = run(DEMOS["cross-entropy"], "handles[0].move([0.25, 3]);", p=0.7)
    assert (out["bits"], out["choices"]) == ("2.00", "4.00")
    curve, _, dot = out["curve"]["marks"]
    np.testing.assert_allclose(np.exp(-np.array(curve["at"])[:, 1]), np.arange(1, 101) / 100)
    assert dot["at"] == [[0.25, pytest.approx(np.log(4))]]


@every_demo
def test_script_uses_only_names_that_the_view_has(demo):
    used = re.findall(r'\b(?:one|all|text|bar|numbers)\("([\w-]+)"', demo.script)
    html = demo._repr_html_().split("<script>")[0]
    assert used
    assert all(f'data-name="{name}"' in html for name in used)


@every_demo
def test_html_is_the_same_every_time(demo):
    assert demo._repr_html_() == demo._repr_html_()


def test_demo_arguments_must_fit():
    with pytest.raises(InputError, match=r"p=0\.0 must lie"):
        demos.cross_entropy_demo(0.0)
    with pytest.raises(InputError, match="n=61 must be"):
        demos.dice_demo(61)

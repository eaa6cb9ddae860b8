import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.probability import demos
from mathlm.errors import InputError

DEMOS = {
    "cross-entropy": demos.cross_entropy_demo(),
    "dice": demos.dice_demo(),
}
every_demo = pytest.mark.parametrize("demo", DEMOS.values(), ids=DEMOS)
STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d), text = (name, value) => { out[name] = value; };
const one = (name) => ({ valueAsNumber: values[name],
  setAttribute(key, value) { out[name] = value; } });
const bar = (name, share) => { out[name] = share; };
const changed = () => {}, reset = () => {};
"""


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)<', html)[-1].replace("−", "-")


def run(demo, **values):
    return run_script(STUB, demo, values)


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
    steps = re.search(r'data-name="steps" d="([^"]*)"', demo._repr_html_())[1]
    numbers = [
        [float(v) for v in re.findall(r"[\d.]+", path)] for path in (steps, out["steps"])
    ]
    np.testing.assert_allclose(*numbers, atol=0.011)


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

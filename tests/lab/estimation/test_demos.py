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

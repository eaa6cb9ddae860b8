import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.objectives import demos
from lab.objectives.corruption import masked_posterior
from lab.objectives.demos import copied
from mathlm.errors import InputError
from mathlm.reference import lost_share

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || {
  value: String(values[name]), setAttribute: (key, x) => { out[key] = x; } };
const changed = () => {}, reset = () => {};
"""
HIDDEN = [
    {"mask": 80, "random": 50, "vocabulary": 3, "prior": -3},
    {"mask": 0, "random": 100, "vocabulary": 1, "prior": -1},
    {"mask": 50, "random": 20, "vocabulary": 2, "prior": -0.5},
]


@needs_node
@pytest.mark.parametrize("at", HIDDEN)
def test_the_script_gives_the_posterior_of_the_package(at):
    out = run_script(STUB, demos.hidden_token_demo(), at)
    V, p, mask = 10 ** at["vocabulary"], 10 ** at["prior"], at["mask"] / 100
    random = (1 - mask) * at["random"] / 100
    prior = np.full(V, (1 - p) / (V - 1))
    prior[0] = p
    found = masked_posterior(prior, 0, (mask, random, 1 - mask - random))[0]
    assert out["copy-bar"] == pytest.approx(found, rel=1e-9)
    assert copied(mask, at["random"] / 100, V, p) == pytest.approx(found, rel=1e-9)


@needs_node
def test_where_all_is_masked_a_visible_word_is_never_asked_for():
    at = {"mask": 100, "random": 50, "vocabulary": 3, "prior": -3}
    assert run_script(STUB, demos.hidden_token_demo(), at)["copy"] == "never asked"
    assert copied(1.0, 0.5, 1000, 1e-3) is None


@needs_node
@pytest.mark.parametrize(("slip", "back", "length"), [(-2, 0, 100), (-1, 25, 40)])
def test_the_script_follows_the_lost_share_of_the_package(slip, back, length):
    out = run_script(STUB, demos.slip_demo(), {"slip": slip, "back": back, "length": length})
    e = lost_share(np.arange(1, length + 1), 10**slip, back / 100)
    assert out["lost"] == f"{100 * e[-1]:.1f} %"
    assert out["wrong"] == f"{e.sum():.1f}"
    level, curve = out["curve"]["marks"]
    np.testing.assert_allclose(np.array(curve["at"])[1:, 1], e, atol=1e-12)
    assert [y for _, y in level["at"]] == pytest.approx(
        [10**slip / (10**slip + back / 100)] * 2
    )


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def test_the_first_picture_is_readable_without_the_script():
    assert shown(demos.hidden_token_demo(), "share") == ["80.0 %", "10.0 %", "10.0 %"]
    assert shown(demos.hidden_token_demo(), "copy") == ["50.1 %"]  # 0.1001 / 0.2000
    e = lost_share(np.arange(1, 101), 0.01, 0)
    assert shown(demos.slip_demo(), "lost") == [f"{100 * e[-1]:.1f} %"]
    assert shown(demos.slip_demo(), "wrong") == [f"{e.sum():.1f}"]


def test_what_is_no_probability_is_refused():
    with pytest.raises(InputError, match=r"slip=0 must be in 0\.\.1, above 0"):
        demos.slip_demo(slip=0)

import math
import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.reward_models import demos
from mathlm.align import best_of_n_kl_bound
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value) => { out[name] = value; };
const one = (name) => elements[name] = elements[name] || {
  value: String(values[name]) };
const changed = () => {}, reset = () => {};
"""
NUMBERS, MOMENTS = (1, 2, 4, 16), [(0.0, 1.0), (0.56, 1.0), (1.03, 1.55), (1.77, 3.42)]


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


@needs_node
@pytest.mark.parametrize(("gap", "number"), [(1.5, 40), (-2.0, 400), (0.0, 5)])
def test_the_script_estimates_the_log_of_the_odds(gap, number):
    demo = demos.comparisons_demo()
    out = run_script(STUB, demo, {"gap": gap, "number": number})
    won = sum(u < 1 / (1 + math.exp(-gap)) for u in demo.state["draws"][:number])
    error = 1.96 * (1 / won + 1 / (number - won)) ** 0.5
    assert (out["won"], out["lost"]) == (str(won), str(number - won))
    assert out["found"] == f"{math.log(won / (number - won)):.2f} ± {error:.2f}"


@needs_node
def test_where_one_side_never_won_no_number_is_shown():
    out = run_script(STUB, demos.comparisons_demo(), {"gap": 5, "number": 5})
    assert (out["lost"], out["found"]) == ("0", "no finite number")
    assert len(out["plane"]["marks"]) == 2  # the curve and the true difference


@needs_node
@pytest.mark.parametrize(("excess", "price"), [(0.8, 0.2), (0.0, 0.0), (2.0, 1.0)])
def test_the_script_chooses_n_by_the_price_and_gives_the_true_reward_there(excess, price):
    demo = demos.best_of_n_demo(NUMBERS, MOMENTS, size=1.1, share=0.8)
    out = run_script(STUB, demo, {"excess": excess, "price": price})
    proxy = 1.1 * np.array([m for m, _ in MOMENTS])
    gold = proxy - excess / 2 * 0.8 * (np.array([s for _, s in MOMENTS]) - 1)
    worth = proxy - price * np.array([best_of_n_kl_bound(n) for n in NUMBERS])
    assert out["n"] == str(NUMBERS[worth.argmax()])
    assert out["gold-reward"] == f"{gold[worth.argmax()]:.2f}"
    assert out["peak"] == str(NUMBERS[gold.argmax()])


@needs_node
def test_the_first_pictures_are_what_the_scripts_draw():
    demo = demos.comparisons_demo(gap=-1.0, number=60)
    out = run_script(STUB, demo, {"gap": -1.0, "number": 60})
    assert shown(demo, "found") == [out["found"].replace("-", "−")]
    demo = demos.best_of_n_demo(NUMBERS, MOMENTS, 1.1, 0.8, excess=1.0, price=0.1)
    out = run_script(STUB, demo, {"excess": 1.0, "price": 0.1})
    for name in ("n", "proxy-reward", "gold-reward", "peak", "peak-reward"):
        assert shown(demo, name) == [out[name]]


@needs_node
@pytest.mark.parametrize("excess", [0.3, 2.0])
def test_the_true_reward_is_drawn_over_the_divergence_of_each_n(excess):
    """At n = 16 it is 1.1 · 1.77 - 1.5 · 2.42 excess: 0.86 at excess 0.3, far below with 2."""
    demo = demos.best_of_n_demo(NUMBERS, MOMENTS, 0.7, 3.0, excess=excess, price=0.0, slope=1.1)
    out = run_script(STUB, demo, {"excess": excess, "price": 0.0})
    _, gold, _, dot = out["plane"]["marks"]
    expected = [1.1 * m - excess / 2 * 3.0 * (s - 1) for m, s in MOMENTS]
    assert [r for _, r in gold["at"]] == pytest.approx(expected)
    assert [k for k, _ in gold["at"]] == pytest.approx(list(map(best_of_n_kl_bound, NUMBERS)))
    assert dot["at"][0] == gold["at"][-1]
    assert out["plane"]["y"]["range"] == pytest.approx([-0.4, 1.1 * 1.1 * 1.77])
    assert out["gold-reward"] == f"{1.1 * 1.77 - 1.5 * excess * 2.42:.2f}"
    assert out["proxy-reward"] == f"{0.7 * 1.77:.2f}"


@needs_node
def test_the_estimate_is_drawn_with_its_interval_and_the_truth_can_be_dragged():
    demo = demos.comparisons_demo()
    out = run_script(STUB, demo, {"gap": 1.5, "number": 40}, "handles[0].move([-1, 0]);")
    won = sum(u < 1 / (1 + math.e) for u in demo.state["draws"][:40])
    guess, error = math.log(won / (40 - won)), 1.96 * (1 / won + 1 / (40 - won)) ** 0.5
    _, interval, dot, true = out["plane"]["marks"]
    assert [x for x, _ in interval["at"]] == pytest.approx([guess - error, guess + error])
    assert dot["at"][0][0] == pytest.approx(guess)
    assert true["at"][0] == pytest.approx([-1, 1 / (1 + math.e)])


def test_numbers_that_cannot_be_shown_are_refused():
    with pytest.raises(InputError, match=r"gap=9 must be in -5\.\.5"):
        demos.comparisons_demo(gap=9)
    with pytest.raises(InputError, match="2 rising numbers need as many moments: 1"):
        demos.best_of_n_demo((2, 1), [(0.0, 1.0)], 1.0, 1.0)
    with pytest.raises(InputError, match=r"numbers=\[1\]: give two or more, and 1 first"):
        demos.best_of_n_demo((1,), [(0.0, 1.0)], 1.0, 1.0)

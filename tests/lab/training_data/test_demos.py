import re

import pytest
from plot.node import needs_node, run_script

from lab.training_data import demos
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]), out = {};
const fixed = (x, d) => x.toFixed(d), text = (name, value) => { out[name] = String(value); };
const slots = {};
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); } };
const changed = () => {}, reset = () => {};
"""


@needs_node
def test_the_script_of_the_bands_draws_at_first_what_the_still_view_shows():
    demo = demos.bands_demo(bands=16, rows=8, similarity=0.75)
    out = run_script(STUB, demo, {"bands": 16, "rows": 8, "similarity": 0.75})
    for name in ("hashes", "chance", "threshold"):
        assert out[name] == re.search(f'data-name="{name}">([^<]*)<', demo.view)[1]
    step, curve, dot = out["plane"]["marks"]
    for s, p in curve["at"]:
        assert p == pytest.approx(1 - (1 - s**8) ** 16)
    assert dot["at"] == [[0.75, pytest.approx(1 - (1 - 0.75**8) ** 16)]]
    assert step["at"][0] == [pytest.approx(16 ** (-1 / 8)), 0]


@needs_node
def test_the_pair_can_be_dragged():
    at = {"bands": 2, "rows": 1, "similarity": 0.1}
    out = run_script(STUB, demos.bands_demo(), at, "handles[0].move([0.5, 0]);")
    assert (out["chance"], out["similarity-value"]) == ("75.0", "0.50")


@needs_node
def test_two_bands_of_one_hash_find_three_quarters_of_the_pairs_at_one_half():
    """1 - (1 - 1/2)² = 3/4, and the step is at 1/2."""
    out = run_script(STUB, demos.bands_demo(), {"bands": 2, "rows": 1, "similarity": 0.5})
    assert (out["chance"], out["hashes"], out["threshold"]) == ("75.0", "2", "0.50")


def test_bands_out_of_range_are_refused_with_their_numbers():
    with pytest.raises(InputError, match=r"bands=0, rows=8 and similarity=0.8 must lie"):
        demos.bands_demo(bands=0)

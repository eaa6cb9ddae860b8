import re

import pytest
from plot.node import needs_node, run_script

from lab.conventions import demos
from mathlm.errors import InputError
from mathlm.functional import causal_mask

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const out = {};
const text = (name, value) => { out[name] = value; };
const one = (name) => ({ valueAsNumber: values[name], value: String(values[name]) });
const changed = () => {};
"""


def run(demo, **values):
    return run_script(STUB, demo, values)


def seen_in(out):
    """Which keys each query sees in the picture, {(query, key): seen}."""
    (cells,) = out["table"]["marks"]
    found = zip(cells["at"], cells["color"], strict=True)
    return {(t, s): color == "accent" for (s, t, *_), color in found}


def shown(html, name):
    return int(re.search(rf'data-name="{name}">([^<]*)<', html)[1])


def test_still_view_counts_what_is_seen():
    """Three queries at the end of seven keys see 5, 6 and 7 of them."""
    html = demos.causal_mask_demo(3, 7)._repr_html_()
    assert (shown(html, "seen"), shown(html, "all"), shown(html, "blind")) == (18, 21, 0)
    picture = html.split('data-name="table"')[1].split("</div>")[0]
    assert picture.count('fill="var(--accent)"') == 18
    assert picture.count('fill="var(--track)"') == 3


def test_first_queries_see_nothing_if_there_are_more_of_them_than_keys():
    assert shown(demos.causal_mask_demo(5, 2)._repr_html_(), "blind") == 3


def test_sizes_outside_the_grid_are_refused():
    with pytest.raises(InputError, match="keys=9 must lie between 1 and 8"):
        demos.causal_mask_demo(3, 9)


@needs_node
@pytest.mark.parametrize(("T", "S", "window"), [(3, 7, 8), (7, 3, 8), (5, 5, 2), (1, 8, 3)])
def test_script_agrees_with_the_mask_of_the_package(T, S, window):
    out = run(demos.causal_mask_demo(), queries=T, keys=S, window=window, corner=0)
    mask = causal_mask(T, S, window)
    expected = {(t, s): bool(mask[t, s]) for t in range(T) for s in range(S)}
    assert seen_in(out) == expected
    assert out["seen"] == int(mask.sum())
    assert out["blind"] == int((~mask.any(1)).sum())


@needs_node
def test_the_other_corner_aligns_the_first_query_with_the_first_key():
    out = run(demos.causal_mask_demo(), queries=2, keys=6, window=8, corner="1")
    assert [seen_in(out)[0, s] for s in range(3)] == [True, False, False]

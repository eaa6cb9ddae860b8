import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.positional_encoding import demos
from mathlm import reference as ref
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = String(value); };
const one = (name) => ({ valueAsNumber: values[name], value: String(values[name]),
  addEventListener() {} });
const changed = () => {}, reset = () => {};
"""


def run(demo, **values):
    return run_script(STUB, demo, values)


def shown(html, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', html)


def test_the_still_table_shows_position_five_at_base_10000():
    """ω = 1 and 10000^(-1/6) = 0.2154: sin 5, cos 5, sin 1.077, cos 1.077."""
    html = demos.position_heatmap_demo()._repr_html_()
    assert shown(html, "sine")[:2] == ["−0.96", "0.88"]
    assert shown(html, "cosine")[:2] == ["0.28", "0.47"]
    assert shown(html, "wave")[0] == "6.28"


@needs_node
@pytest.mark.parametrize(("base", "position"), [(10_000, 5), (10, 23), (1_000_000, 0)])
def test_the_script_draws_the_still_table(base, position):
    demo = demos.position_heatmap_demo(base, position)
    html, exponent = demo._repr_html_(), len(str(base)) - 1
    out = run(demo, base=exponent, position=position)
    for name in ("sine", "cosine", "wave", "step"):
        expected = shown(html, name)
        assert [out[name + (str(i) if i else "")] for i in range(len(expected))] == expected


def marks(out, name, kind):
    return [m for m in out[name]["marks"] if m["kind"] == kind]


@needs_node
def test_the_script_colors_the_squares_by_the_table_of_the_package():
    out = run(demos.position_heatmap_demo(), base=4, position=5)
    (squares,) = marks(out, "table", "boxes")
    table = np.zeros((24, 12))
    for (x, y, *_), color, fade in zip(*(squares[k] for k in ("at", "color", "fade"))):  # noqa: B905
        table[y, x] = float(fade) * (-1 if color == "second" else 1)
    np.testing.assert_allclose(table, ref.sinusoidal_table(24, 12), atol=0.006)


def turned(count, base, position):
    """(1, 0, 1, 0, ...) of ``count`` pairs at a position, by the package."""
    x = np.tile([1.0, 0.0], count)[None]
    return ref.rotary(x, np.array([position]), base, "interleaved")[0][0]


@needs_node
@pytest.mark.parametrize(("pairs", "count", "base"), [(1, 4, 100), (2, 4, 1e4), (3, 32, 1e4)])
def test_the_score_is_that_of_vectors_which_the_package_turns(pairs, count, base):
    out = run(demos.rotary_clock_demo(), m=31, n=9, both=4, pairs=pairs)
    q, k = turned(count, base, 35), turned(count, base, 13)
    assert float(out["score"].replace("−", "-")) == pytest.approx(q @ k / count, abs=6e-4)
    curve = np.array(
        next(m["at"] for m in marks(out, "curve", "line") if m["color"] == "accent")
    )
    expected = [turned(count, base, d) @ turned(count, base, 0) / count for d in range(101)]
    np.testing.assert_allclose(curve[::2, 1], expected, atol=1e-8)


@needs_node
def test_the_hands_of_a_pair_point_where_the_package_turns_them():
    out = run(demos.rotary_clock_demo(), m=31, n=9, both=4, pairs=1)
    hands = [np.diff(m["at"], axis=0)[0] for m in marks(out, "dials", "arrow")]
    key, query = turned(4, 100, 13).reshape(4, 2), turned(4, 100, 35).reshape(4, 2)
    np.testing.assert_allclose(hands[0::2], key, atol=1e-8)
    np.testing.assert_allclose(hands[1::2], query, atol=1e-8)


@needs_node
def test_hands_that_move_together_keep_their_score():
    demo = demos.rotary_clock_demo()
    outs = [run(demo, m=7, n=4, both=both, pairs=1) for both in (0, 1, 50)]
    assert len({out["score"] for out in outs}) == 1
    assert len({str(marks(out, "dials", "arrow")) for out in outs}) == 3


@needs_node
def test_the_clock_script_finds_the_still_view():
    """One pair at 0.3 a token, three tokens apart: cos 0.9 = 0.622."""
    demo = demos.rotary_clock_demo(pairs=0)
    out, html = run(demo, m=7, n=4, both=0, pairs=0), demo._repr_html_()
    assert shown(html, "score") == [out["score"]] == ["0.622"]
    assert shown(html, "distance") == [out["distance"]] == ["3"]


def test_settings_outside_the_sliders_are_refused():
    with pytest.raises(InputError, match=r"base=5 must lie in 10\.\.1,000,000"):
        demos.position_heatmap_demo(5)
    with pytest.raises(InputError, match="position=24 in 0"):
        demos.position_heatmap_demo(position=24)
    with pytest.raises(InputError, match="m=51 and n=4"):
        demos.rotary_clock_demo(m=51)

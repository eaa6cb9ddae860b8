import re

import pytest
from plot.node import needs_node, run_script

from lab.positional_encoding import demos
from mathlm.errors import InputError

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−"), out = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = String(value); };
const one = (name, i = 0) => ({
  valueAsNumber: values[name], value: String(values[name]),
  setAttribute: (key, v) => { out[`${name}${i ? i : ""}.${key}`] = v; },
});
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


@needs_node
def test_the_script_colors_the_squares_as_the_still_picture():
    demo = demos.position_heatmap_demo()
    html, out = demo._repr_html_(), run(demo, base=4, position=5)
    squares = re.findall(r'class="(plus|minus)"[^>]*fill-opacity="([\d.]+)"', html)
    for i, (kind, strength) in enumerate(squares):
        assert (out[f"cell{i or ''}.class"], out[f"cell{i or ''}.fill-opacity"]) == (
            kind,
            strength,
        )
    assert len(squares) == 24 * 12


@needs_node
def test_hands_that_move_together_keep_their_score():
    demo = demos.rotary_clock_demo()
    outs = [run(demo, m=7, n=4, both=both, frequency=0.3) for both in (0, 1, 50)]
    assert len({out["score"] for out in outs}) == 1
    assert len({out["query.x2"] for out in outs}) == 3


@needs_node
def test_the_clock_script_finds_the_still_view():
    """cos(0.5 - 0.2 + 3 × 0.3) = cos 1.2 = 0.362."""
    demo = demos.rotary_clock_demo()
    out, html = run(demo, m=7, n=4, both=0, frequency=0.3), demo._repr_html_()
    assert shown(html, "score") == [out["score"]] == ["0.362"]
    assert shown(html, "distance") == [out["distance"]] == ["3"]
    assert f'x2="{out["query.x2"]}"' in html


def test_settings_outside_the_sliders_are_refused():
    with pytest.raises(InputError, match=r"base=5 must lie in 10\.\.1,000,000"):
        demos.position_heatmap_demo(5)
    with pytest.raises(InputError, match="position=24 in 0"):
        demos.position_heatmap_demo(position=24)
    with pytest.raises(InputError, match="m=21 and n=4"):
        demos.rotary_clock_demo(m=21)

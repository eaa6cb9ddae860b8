import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from mathlm.plot.demo import (
    Demo,
    bar,
    button,
    live_text,
    number,
    select,
    shown,
    slider,
    value,
)

VOID = {"input", "br", "img"}


class Elements(HTMLParser):
    """Elements with their attributes, and a stack that must be empty at the end."""

    def __init__(self, html):
        super().__init__()
        self.found, self.open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture
def demo():
    return Demo(
        kind="test",
        title="A < B & 'C'",
        view=live_text(f"sum {value('sum', '3')} {bar('share', 0.25)}"),
        controls=slider("x", "x", 0, 10, 0.5, 1)
        + number("y", "y", 2)
        + select("z", "z", ["one", "two"], chosen=1)
        + button("reset", "reset"),
        script='const draw = () => text("sum", fixed(numbers("y")[0], 1)); changed(draw);',
        state={"name": 'quote " and </div>', "numbers": [1, 2.5]},
        hint="Try it.",
    )


def script(html):
    return re.search(r"<script>(.*)</script>", html, re.DOTALL)[1]


def test_html_is_well_formed_and_one_element(demo):
    parsed = Elements(demo._repr_html_())
    assert parsed.open == []
    assert parsed.found[0][1]["class"].split()[0] == "mathlm-demo"


def test_state_survives_the_attribute(demo):
    _, attributes = Elements(demo._repr_html_()).found[0]
    assert json.loads(unescape(attributes["data-state"])) == demo.state


def test_title_is_escaped(demo):
    html = demo._repr_html_()
    assert html.count("A &lt; B &amp; &#x27;C&#x27;") == 2  # heading and name
    assert "A < B" not in html


def test_html_is_the_same_every_time_and_has_no_ids(demo):
    html = demo._repr_html_()
    assert html == demo._repr_html_()
    assert not any("id" in attributes for _, attributes in Elements(html).found)


def test_nothing_is_asked_from_the_network(demo):
    html = demo._repr_html_()
    assert not re.search(r"https?:|//\w|@import|url\(|\bsrc=|fetch\(|import\(", html)


def test_every_input_has_a_label(demo):
    html = demo.controls + number("q", "hidden", 1, hidden_label=True)
    labeled = len(re.findall(r"<label", html)) + html.count("aria-label=")
    assert labeled == len(re.findall(r"<(?:input|select)", html))


def test_changing_text_is_announced(demo):
    assert 'aria-live="polite"' in demo._repr_html_()


@pytest.mark.parametrize(
    "rule",
    [
        "prefers-reduced-motion:reduce",
        "prefers-color-scheme:dark",
        "html[data-theme=dark]",
        "html[data-theme=light]",
        "data-jp-theme-light=false",
        ":not([data-ready]) .live{display:none",
        "[data-ready] .still{display:none",
    ],
)
def test_style_knows_its_surroundings(demo, rule):
    assert rule in demo._repr_html_()


def test_demo_is_small(demo):
    assert len(demo._repr_html_()) < 8000


def test_values_stand_in_the_html_before_any_script_runs(demo):
    before_script = demo._repr_html_().split("<script>")[0]
    assert '<b data-name="sum">3</b>' in before_script
    assert 'style="width:25.00%"' in before_script


def test_chosen_option_and_pressed_button():
    assert '<option value="1" selected>b' in select("s", "s", ["a", "b"], chosen=1)
    assert 'aria-pressed="true"' in button("w", "word", pressed=True)
    assert "aria-pressed" not in button("reset", "reset")


def test_nan_in_the_state_is_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        Demo(kind="t", title="t", view="", script="", state={"x": float("nan")})._repr_html_()


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_script_parses(demo, tmp_path):
    path = tmp_path / "demo.js"
    path.write_text(script(demo._repr_html_()), encoding="utf-8")
    subprocess.run(["node", "--check", str(path)], check=True)


def test_a_state_keeps_nine_digits_and_no_rounding_errors():
    state = {"a": [1 / 3, 6.9e-18, 2.0, -1e-16], "b": (1, "x", None, [1e-20]), "c": 2 / 3}
    expected = {"a": [0.333333333, 0.0, 2.0, 0.0], "b": [1, "x", None, [1e-20]]}
    assert shown(state) == {**expected, "c": 0.666666667}
    assert shown({"d": np.float64(0.1) + np.float64(0.2)}) == {"d": 0.3}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, "1"),
        (0.1 + 0.2, "0.3"),
        (1e6, "1e+06"),
        (1234567, "1234567"),
        (124439808, "124439808"),
        (-0.1234567, "-0.1234567"),
    ],
)
def test_inputs_show_the_number_that_was_given(given, expected):
    html = number("n", "n", given, low=given, high=given, step=given)
    assert all(f'{name}="{expected}"' in html for name in ("min", "max", "step", "value"))
    html = slider("n", "n", given, given, given, given)
    assert all(f'{name}="{expected}"' in html for name in ("min", "max", "step", "value"))
    assert f">{expected}</b>" in html

"""The pictures of demos: Python draws first what the script draws later."""

import json
import re
import subprocess
from itertools import pairwise

import pytest
from plot.node import NUMBERS, needs_node
from plot.test_demo import Elements

from mathlm.plot import picture as picture_module
from mathlm.plot.demo import Demo, byte_size, scientific, script_beside
from mathlm.plot.picture import (
    area,
    arrow,
    axis,
    boxes,
    dots,
    drawn,
    legend,
    line,
    picture,
    ticks_of,
    words,
)

FIXED = (
    'const fixed = (x, d) => x.toFixed(d).replace(/^-(0\\.?0*)$/, "$1").replace("-", "−");'
    "const still = false;"
)
KIT = script_beside(picture_module.__file__, "plot_kit")
MARKS = [
    area([(0, 0), (1, 2), (3, 1)], "second", fade=0.3),
    line([(0, 1), (1, float("nan")), (2, 3), (3, 1e9)], dash="6 4"),
    dots([(1, 1), (2, 2)], "fg", size=4),
    arrow([(0, 0), (2, 1)], "third"),
    words((1, 1), "a < b & c", anchor="middle", dy=-6),
    words((0, 2), "fits", room=3), words((0, 2.5), "does not fit here", room=0.4),
    boxes([(0, 0, 1, 1), (1, 1, 2, 0)], ["accent", "second"], fade=[0.2, 1], gap=2),
]  # fmt: skip
SPECS = {
    "plain": {"x": axis(0, 5, "time [s]"), "y": axis(-1, 3, "loss [nats]"), "marks": MARKS},
    "logarithmic": {
        "x": axis(1e-4, 1e3, "step", log=True), "y": axis(1e5, 1e21, log=True),
        "marks": [line([(1e-3, 1e6), (0, 1e7), (10, 1e20)])],
    },
    "equal": {"x": axis(-3, 3), "y": axis(-2, 2), "marks": MARKS[:1], "equal": True},
    "named": {
        "x": axis(8, 0, "rows", ticks=[(0.5, "one"), (1.5, "two")]), "y": axis(0, 1, bare=True),
        "marks": [], "aspect": 0.4,
    },
    "bare": {"x": axis(0, 1, bare=True), "y": axis(0, 1, bare=True), "marks": MARKS[4:5]},
}  # fmt: skip


def node(program):
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def of_the_script(spec, width):
    spec = json.dumps(spec).replace("NaN", "null")
    shown = f"const v = drawn({spec}, {width}); console.log(JSON.stringify(v));"
    return node(FIXED + NUMBERS + KIT + shown)


def pieces(svg):
    """Elements, attributes and words of an SVG in order, the numbers apart."""
    words, numbers = [re.sub(r"<[^>]*>", "|", svg).replace("&gt;", ">")], []
    for name, attributes in Elements(svg).found:
        words.append(name)
        for key, content in sorted(attributes.items()):
            numbers += [float(x) for x in re.findall(r"-?\d+\.?\d*", content)]
            words.append(f"{key}={re.sub(r'-?[0-9.]+', '#', content)}")
    return words, numbers


@needs_node
@pytest.mark.parametrize("width", [300, 640])
@pytest.mark.parametrize("name", SPECS)
def test_script_and_python_draw_the_same_picture(name, width):
    wide, high, body = drawn(SPECS[name], width)
    view = of_the_script(SPECS[name], width)
    assert (view["width"], view["height"]) == pytest.approx((wide, high))
    by_python, by_script = pieces(body), pieces(view["body"])
    assert by_python[0] == by_script[0]
    assert by_python[1] == pytest.approx(by_script[1], abs=0.11)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (axis(0, 1), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (axis(-3, 3), ["−2", "0", "2"]),
        (axis(0, 30_000), ["0", "10,000", "20,000", "30,000"]),
        (axis(0.01, 100, log=True), ["0.01", "0.1", "1", "10", "100"]),
        (axis(1e-7, 1e-3, log=True), ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³"]),
        (axis(0, 1, ticks=[(0, "no"), (1, "yes")]), ["no", "yes"]),
    ],
)
def test_ticks_stand_at_round_numbers(given, names):
    assert [t for _, t in ticks_of(given, 320, 64)] == names


@pytest.mark.parametrize("low", [-7.3, 0.013, 512])
@pytest.mark.parametrize("size", [0.07, 3, 9_000])
@pytest.mark.parametrize("length", [150, 330, 640])
def test_ticks_lie_inside_their_axis_and_have_room(low, size, length):
    found = [v for v, _ in ticks_of(axis(low, low + size), length, 64)]
    assert all(low - 1e-9 <= v <= low + size + 1e-9 for v in found)
    gaps = [b - a for a, b in pairwise(found)]
    assert all(gap * length / size >= min(64, length / 2) - 1e-6 for gap in gaps)
    assert len(found) >= 1


def test_words_that_do_not_fit_into_their_room_are_left_out():
    body = drawn(SPECS["plain"], 320)[2]
    assert ">fits<" in body
    assert "does not fit" not in body


def test_one_unit_is_as_long_on_both_axes_if_asked_for():
    width, height, _ = drawn(SPECS["equal"], 320)
    assert (width - 26 - 16) / 6 == pytest.approx((height - 32) / 4, rel=0.05)


def test_letters_have_twelve_pixels_in_every_column():
    for width in (280, 640):
        assert set(re.findall(r'font-size="(\d+)"', drawn(SPECS["plain"], width)[2])) == {"12"}


def test_a_demo_with_a_picture_brings_the_kit_and_asks_nothing_from_the_network():
    view = legend([("accent", "loss"), ("second", "goal", "dashed")])
    view += picture("plot", 'loss "by" time', **SPECS["plain"])
    html = Demo(kind="t", title="t", view=view, script="")._repr_html_()
    assert "const picture" in html
    assert "const picture" not in Demo(kind="t", title="t", view="", script="")._repr_html_()
    assert not re.search(r"https?:|//\w|@import|url\(|\bsrc=|fetch\(|import\(", html)
    assert Elements(html.split("<script>")[0] + "</div>").open == []
    assert len(html) < 22_000


NUMBER_FORMS = [
    (0, "0"), (0.00098, "0.00098"), (0.005, "0.0050"), (-3.14159, "−3.1"), (74.2, "74"),
    (12_345, "12,000"),
    (1.27e16, "1.3 × 10¹⁶"), (4.99e-138, "5.0 × 10⁻¹³⁸"), (-2e9, "−2.0 × 10⁹"),
    (99_999, "100,000"),
]  # fmt: skip
SIZES = [
    (0, "0 bytes"), (999, "999 bytes"), (1500, "1.50 kB"), (52_400_000, "52.4 MB"),
    (112e9, "112 GB"), (158_329.67e9, "158 TB"), (999_700, "1.00 MB"),
]  # fmt: skip


@pytest.mark.parametrize(("x", "expected"), NUMBER_FORMS)
def test_numbers_are_written_as_a_reader_expects_them(x, expected):
    assert scientific(x) == expected


@pytest.mark.parametrize(("x", "expected"), SIZES)
def test_bytes_have_three_digits_and_a_unit(x, expected):
    assert byte_size(x) == expected


@needs_node
def test_the_script_writes_numbers_as_python_does():
    asked = json.dumps([[x for x, _ in NUMBER_FORMS], [x for x, _ in SIZES]])
    found = node(
        f"{FIXED}{NUMBERS}const [a, b] = {asked};"
        "console.log(JSON.stringify([a.map((x) => scientific(x)), b.map((x) => bytes(x)),"
        "[grouped(1234567.891, 1), grouped(-1234), grouped(999), raised(-12)]]));"
    )
    assert found[0] == [t for _, t in NUMBER_FORMS]
    assert found[1] == [t for _, t in SIZES]
    assert found[2] == ["1,234,567.9", "−1,234", "999", "⁻¹²"]


@needs_node
@pytest.mark.parametrize("name", ["plain", "logarithmic", "equal"])
def test_a_place_on_the_screen_is_taken_back_to_the_data(name):
    spec = json.dumps({**SPECS[name], "marks": []})
    x, y = (SPECS[name][k]["range"] for k in "xy")
    p = [x[0] + 0.3 * (x[1] - x[0]), y[0] + 0.8 * (y[1] - y[0])]
    ends = [[x[0], y[0]], [x[1], y[1]], p]
    back = node(
        f"{FIXED}{NUMBERS}{KIT}const v = drawn({spec}, 500);"
        f"console.log(JSON.stringify({ends}.map((p) => v.from(v.at(p)))));"
    )
    for found, expected in zip(back, ends, strict=True):
        assert found == pytest.approx(expected, rel=1e-9)


# elements that keep their attributes and what listens to them, in a column of 400 pixels
PAGE = """
const made = [];
const element = () => ({ attributes: {}, listeners: {}, children: [], dataset: {},
  clientWidth: 400, setAttribute(k, v) { this.attributes[k] = v; }, append() {}, focus() {},
  addEventListener(e, f) { this.listeners[e] = f; }, setPointerCapture() {},
  getBoundingClientRect() {
    return { left: 10, top: 20, width: this.attributes.width / 2 };
  } });
const document = { createElementNS() { made.push(element()); return made[made.length - 1]; } };
const svg = { ...element(), children: [element(), element()] };
const one = () => ({ ...element(), firstChild: svg });
class ResizeObserver { observe() {} }
const text = () => {};
"""
DRAGGED = """
const at = [1, 1], seen = [], plane = picture("plane");
plane.show({ x: { range: [0, 4] }, y: { range: [0, 2] }, marks: [] });
const view = drawn({ x: { range: [0, 4] }, y: { range: [0, 2] }, marks: [] }, 400);
plane.handle({ label: "point", step: 0.25, at: () => at,
  move(p) { seen.push([...p]); [at[0], at[1]] = p; } });
const [g] = made, key = (key, shiftKey) =>
  g.listeners.keydown({ key, shiftKey, preventDefault() {} });
key("ArrowRight", false);
key("ArrowUp", true);
key("Tab", false);
const to = (p) => {
  const [u, v] = view.at(p);
  g.listeners.pointermove({ clientX: 10 + u / 2, clientY: 20 + v / 2 });
};
to([2, 1]);
g.listeners.pointerdown({ pointerId: 1, preventDefault() {} });
to([3.3, 0.6]);
g.listeners.pointerup({});
to([2, 1]);
console.log(JSON.stringify([seen, g.attributes]));
"""


@needs_node
def test_a_point_is_moved_by_keys_and_by_a_pointer_that_holds_it():
    """Steps of 1/4; ten of them with shift, which the axis ends at 2; 3.3 and 0.6 are rounded.

    The picture stands at half its size at (10, 20) of the screen.
    """
    seen, attributes = node(FIXED + NUMBERS + PAGE + KIT + DRAGGED)
    assert seen == [[1.25, 1], [1.25, 2], [3.25, 0.5]]
    assert attributes["role"] == "slider"
    assert (attributes["aria-label"], attributes["tabindex"]) == ("point", 0)


PLAYED = """
let step = 0, name = "play", press = null, clocks = 0;
const setInterval = (f) => { clocks += 1; while (step < 5) f(); return clocks; };
const clearInterval = () => {};
const one = () => ({ addEventListener(e, f) { press = f; } });
const text = (_, word) => { name = word; };
player("play", () => { step = 0; }, () => { step += 1; return step < 5; }, 10);
press();
console.log(JSON.stringify([step, clocks]));
"""


@needs_node
@pytest.mark.parametrize(("still", "clocks"), [("false", 1), ("true", 0)])
def test_without_motion_playing_goes_to_the_end_at_once(still, clocks):
    found = node(FIXED.replace("still = false", f"still = {still}") + NUMBERS + KIT + PLAYED)
    assert found == [5, clocks]

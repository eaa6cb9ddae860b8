"""Pictures of demos: axes, marks and a legend, drawn by Python first and by a script later.

A picture is a description of plain numbers, the same in Python and in ``plot_kit.js``: two axes
and a list of marks. :func:`picture` draws its first state as SVG, for readers without scripts;
in the demo ``picture(name).show(...)`` draws any other from a description of the same form, as
wide as its column and with letters of a fixed size.

In the script, ``picture(name)`` has two methods. ``show(spec)`` takes ``label``, ``x``, ``y``,
``marks`` and the options of :func:`picture`. ``handle({label, at, move, step})`` adds a point
that is dragged by mouse, finger or arrow keys: ``at()`` says where it stands, ``move([x, y])``
is called with a place inside the axes, rounded to ``step`` (a number or one for each axis);
``says()`` is what a screen reader says of it, and ``turn(±1)``, if given, serves the arrow
keys. With ``choose`` in place of ``move`` it is a place to point at: ``choose()`` is called
when it is pointed at or has the focus, ``key(±1)`` by the arrow keys.
``player(name, begin, tick, pause)`` serves a button that plays: ``tick()`` goes on by one and
says whether more is to come, every ``pause`` milliseconds, or at once for readers who asked
for reduced motion; ``begin()`` is called first.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from .demo import RAISED

WIDTH = 400  # of the first state [units of the SVG]
Mark = dict[str, Any]
Number = float | int
Points = Sequence[tuple[Number, Number]]


def axis(
    low: Number,
    high: Number,
    label: str = "",
    *,
    log: bool = False,
    ticks: Sequence[tuple[Number, str]] | None = None,
    bare: bool = False,
) -> dict[str, Any]:
    """An axis with ticks at round numbers.

    Args:
        low: Value at its beginning (left, or bottom); it may be the larger one.
        high: Value at its end.
        label: What is measured, with its unit.
        log: Logarithmic; both ends positive.
        ticks: Places and their names, instead of round numbers; without lines but at 0.
        bare: Without ticks.
    """
    given: dict[str, Any] = {"range": [float(low), float(high)]}
    options = {"label": label, "log": log, "bare": bare}
    given |= {name: option for name, option in options.items() if option}
    return given | ({} if ticks is None else {"ticks": [list(tick) for tick in ticks]})


def line(points: Iterable[Any], color: str = "accent", **options: Any) -> Mark:
    """A line through points; options: width [px], dash ("6 4"), fade (opacity).

    Args:
        points: Pairs (x, y); one that is not finite interrupts the line.
        color: Name of a color of the demo: accent, second, third, fourth, fg, soft, line.
        options: As above.
    """
    return {"kind": "line", "at": _pairs(points), "color": color, **options}


def area(points: Iterable[Any], color: str = "accent", **options: Any) -> Mark:
    """A filled polygon; options: fade (opacity).

    Args:
        points: Its corners (x, y).
        color: As in :func:`line`.
        options: As above.
    """
    return {"kind": "area", "at": _pairs(points), "color": color, **options}


def dots(points: Iterable[Any], color: str = "accent", **options: Any) -> Mark:
    """Points; options: size (radius [px]), fade (opacity).

    Args:
        points: Pairs (x, y).
        color: As in :func:`line`.
        options: As above.
    """
    return {"kind": "dots", "at": _pairs(points), "color": color, **options}


def arrow(points: Iterable[Any], color: str = "accent", **options: Any) -> Mark:
    """An arrow between two points; options as in :func:`line`.

    Args:
        points: Its foot and its tip.
        color: As in :func:`line`.
        options: As above.
    """
    return {"kind": "arrow", "at": _pairs(points), "color": color, **options}


def words(point: Iterable[Number], text: str, color: str = "fg", **options: Any) -> Mark:
    """Text at a point; options: anchor (start, middle, end), dx, dy, size, weight, room, least.

    With ``least`` it is left out of pictures that are narrower [px]. With ``room``, a length on
    the axis of x, it stands there only if it fits into that length.

    Args:
        point: Where its base line begins (x, y).
        text: What it says.
        color: As in :func:`line`.
        options: As above.
    """
    return {"kind": "text", "at": _pairs([point]), "text": text, "color": color, **options}


def boxes(corners: Iterable[Any], color: str | Sequence[str], **options: Any) -> Mark:
    """Rectangles; options: fade (opacity, one or a list), gap [px], edge (color).

    Args:
        corners: (x₀, y₀, x₁, y₁) of each.
        color: One for all, or one for each.
        options: As above.
    """
    at = [[float(v) for v in box] for box in corners]
    return {"kind": "boxes", "at": at, "color": color, **options}


def legend(entries: Iterable[tuple[str, ...]]) -> str:
    """A line above a picture that names its colors.

    Args:
        entries: Color and name, and "dashed", "dotted" or "double" for such a line.
    """
    names = "".join(
        f'<span><i style="border-color:var(--{color});border-top-style:'
        f'{style[0] if style else "solid"}"></i>{escape(name)}</span>'
        for color, name, *style in entries
    )
    return f'<div class="demo-legend">{names}</div>'


def picture(
    name: str,
    label: str,
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    marks: Sequence[Mark],
    **options: Any,
) -> str:
    """The place of a picture in a demo, with its first state as SVG.

    Args:
        name: data-name of the element; ``picture(name)`` in the script finds it.
        label: What a screen reader says of it.
        x: From :func:`axis`.
        y: From :func:`axis`.
        marks: From :func:`line`, :func:`area`, :func:`dots`, :func:`arrow`, :func:`words` and
            :func:`boxes`, the last on top.
        options: aspect (height by width, 0.6), equal (one unit is as long on both axes),
            tallest [px, 340], widest [px, 760].
    """
    width, height, body = drawn({"x": x, "y": y, "marks": marks, **options}, WIDTH)
    return (
        f'<div class="demo-picture" data-name="{name}" data-label="{escape(label)}">'
        f'<svg class="still" role="img" aria-label="{escape(label)}" '
        f'viewBox="0 0 {px(width)} {px(height)}">{body}</svg></div>'
    )


def px(v: Number) -> str:
    """A length as both languages write it: a nudge decides what lies halfway."""
    return f"{v + 1e-6:.1f}"


def ticks_of(
    given: Mapping[str, Any], length: Number, each: Number
) -> list[tuple[Number, str]]:
    """Places and names of the ticks of an axis: multiples of 1, 2 or 5 times a power of ten.

    Args:
        given: From :func:`axis`.
        length: Of the axis [px].
        each: Room that a tick needs [px].
    """
    if "ticks" in given:
        return [(v, t) for v, t in given["ticks"]]
    (a, b), room = sorted(given["range"]), max(2, math.floor(length / each))
    if given.get("log"):
        return _decades(a, b, room)
    raw = (b - a) / room
    p = 10.0 ** math.floor(math.log10(raw) + 1e-9)
    step = p * next(m for m in (1, 2, 5, 10) if m * p >= raw * (1 - 1e-9))
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    first, last = math.ceil(a / step - 1e-9), math.floor(b / step + 1e-9)
    return [(k * step, _grouped(k * step, digits)) for k in range(first, last + 1)]


def _decades(a: Number, b: Number, room: int) -> list[tuple[Number, str]]:
    low, high = math.ceil(math.log10(a) - 1e-9), math.floor(math.log10(b) + 1e-9)
    by, plain = math.ceil((high - low + 1) / room), a > 9e-4 and b < 2e4
    return [
        (10.0**k, _grouped(10.0**k, max(0, -k)) if plain else f"10{str(k).translate(RAISED)}")
        for k in range(low, high + 1)
        if k % by == 0
    ]


def _grouped(x: Number, digits: int) -> str:
    return f"{x + 0.0:,.{digits}f}".replace("-", "−")


def _along(given: Mapping[str, Any], start: Number, end: Number) -> Callable[[Number], Number]:
    """Values of an axis to pixels."""
    a, b = (math.log10(v) if given.get("log") else v for v in given["range"])

    def place(v: Number) -> Number:
        if given.get("log"):
            v = math.log10(v) if v > 0 else math.nan
        return start + (end - start) * (v - a) / (b - a)

    return place


def drawn(spec: Mapping[str, Any], width: Number) -> tuple[Number, Number, str]:
    """Width, height and content of the SVG of a picture, as ``plot_kit.js`` draws it.

    Args:
        spec: "x", "y", "marks" and the options of :func:`picture`.
        width: Of the column [px].
    """
    x, y = spec["x"], spec["y"]
    tall = min(spec.get("tallest", 340), max(170, spec.get("aspect", 0.6) * width))
    top = 24 if y.get("label") else 10
    bottom = (6 if x.get("bare") else 22) + (18 if x.get("label") else 0)
    rows = (
        []
        if y.get("bare")
        else ticks_of(y, tall - top - bottom, 40 if spec.get("equal") else 34)
    )
    wide = max((len(t) for _, t in rows), default=0)
    left, right = 6 if y.get("bare") else 12 + 7 * wide, 6 if x.get("bare") else 16
    w, h = width - left - right, tall - top - bottom
    if spec.get("equal"):
        (a, b), (c, d) = x["range"], y["range"]
        unit = min(w / abs(b - a), (spec.get("tallest", 340) - top - bottom) / abs(d - c))
        w, h = unit * abs(b - a), unit * abs(d - c)
    columns = [] if x.get("bare") else ticks_of(x, w, 40 if spec.get("equal") else 64)
    fx, fy = _along(x, 0, w), _along(y, h, 0)
    grid = [_line(fx(v), 0, fx(v), h, v) for v, _ in columns if "ticks" not in x or v == 0]
    grid += [_line(0, fy(v), w, fy(v), v) for v, _ in rows if "ticks" not in y or v == 0]
    names = [_word(left + fx(v), top + h + 16, "middle", t) for v, t in columns]
    names += [_word(left - 6, top + fy(v) + 4, "end", t) for v, t in rows]
    if x.get("label"):
        below = 16 if x.get("bare") else 34
        names.append(_word(left + w / 2, top + h + below, "middle", x["label"], "fg"))
    if y.get("label"):
        names.append(_word(min(left, 4), 13, "start", y["label"], "fg"))
    marks = [
        _mark(mark, lambda p: (fx(p[0]), fy(p[1])))
        for mark in spec["marks"]
        if mark.get("least", 0) <= width
    ]
    place = f'x="{px(left)}" y="{px(top)}" width="{px(w)}" height="{px(h)}"'
    schematic = x.get("bare") and y.get("bare")
    frame = "" if schematic else f'<rect {place} fill="none" stroke="var(--line)"></rect>'
    body = f'<svg {place} overflow="hidden">{"".join([*grid, *marks])}</svg>'
    return w + left + right, top + h + bottom, frame + body + "".join(names)


def _line(a: Number, b: Number, c: Number, d: Number, v: Number) -> str:
    ends = f'x1="{px(a)}" y1="{px(b)}" x2="{px(c)}" y2="{px(d)}"'
    color = "soft" if v == 0 else "line"
    return f'<line {ends} stroke="var(--{color})" stroke-width="1"></line>'


def _word(u: Number, v: Number, anchor: str, text: str, color: str = "soft") -> str:
    place = f'x="{px(u)}" y="{px(v)}" text-anchor="{anchor}" font-size="12"'
    return f'<text {place} fill="var(--{color})">{escape(text, quote=False)}</text>'


def _mark(mark: Mark, at: Callable[[Sequence[Number]], tuple[Number, Number]]) -> str:
    if mark["kind"] == "boxes":
        return "".join(_box(mark, i, at) for i in range(len(mark["at"])))
    places = mark["at"]
    if mark.get("room"):
        places = [places[0], (places[0][0] + mark["room"], places[0][1])]
    points = [at(p) for p in places]
    return {"line": _path, "area": _area, "dots": _dots, "text": _text, "arrow": _arrow}[
        mark["kind"]
    ](mark, points)


def _steps(points: Points) -> str:
    pen, path = "M", ""
    for u, v in points:
        there, now = math.isfinite(u) and math.isfinite(v), pen
        pen = "L" if there else "M"
        if there:
            near = [px(max(-9999, min(9999, z))) for z in (u, v)]
            path += f"{now}{near[0]} {near[1]}"
    return path


def _path(mark: Mark, points: Points) -> str:
    dash = f' stroke-dasharray="{mark["dash"]}"' if mark.get("dash") else ""
    return (
        f'<path d="{_steps(points)}" fill="none" stroke="var(--{mark["color"]})" '
        f'stroke-width="{mark.get("width", 2.5)}" stroke-linejoin="round" '
        f'opacity="{mark.get("fade", 1)}"{dash}></path>'
    )


def _area(mark: Mark, points: Points) -> str:
    fill = f'fill="var(--{mark["color"]})" fill-opacity="{mark.get("fade", 1)}"'
    return f'<path d="{_steps(points)}Z" {fill}></path>'


def _dots(mark: Mark, points: Points) -> str:
    look = (
        f'r="{mark.get("size", 5)}" fill="var(--{mark["color"]})" '
        f'opacity="{mark.get("fade", 1)}"'
    )
    return "".join(f'<circle cx="{px(u)}" cy="{px(v)}" {look}></circle>' for u, v in points)


def _text(mark: Mark, points: Points) -> str:
    if mark.get("room") and abs(points[1][0] - points[0][0]) < 7 * len(mark["text"]) + 2:
        return ""
    u, v = points[0][0] + mark.get("dx", 0), points[0][1] + mark.get("dy", 0)
    return (
        f'<text x="{px(u)}" y="{px(v)}" text-anchor="{mark.get("anchor", "start")}" '
        f'fill="var(--{mark["color"]})" font-size="{mark.get("size", 12)}" '
        f'font-weight="{mark.get("weight", 400)}" paint-order="stroke" stroke="var(--bg)" '
        f'stroke-width="{mark.get("halo", 3)}">{escape(mark["text"], quote=False)}</text>'
    )


def _arrow(mark: Mark, points: Points) -> str:
    a, b = points
    w = (b[0] - a[0], b[1] - a[1])
    n = math.hypot(*w)
    k = min(10, n / 2) / (n or 1)
    back = (b[0] - k * w[0], b[1] - k * w[1])
    side = (-k * w[1] / 2, k * w[0] / 2)
    head = [b, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])]
    return _path(mark, [a, back]) + _area({**mark, "fade": 1}, head)


def _box(mark: Mark, i: int, at: Callable[[Sequence[Number]], tuple[Number, Number]]) -> str:
    a, b, c, d = mark["at"][i]
    (u, v), (s, t), gap = at((a, b)), at((c, d)), mark.get("gap", 0)
    color, fade = (
        found[i] if isinstance(found, list | tuple) else found
        for found in (mark["color"], mark.get("fade", 1))
    )
    size = [px(max(0.5, abs(z) - gap)) for z in (s - u, t - v)]
    edge = f' stroke="var(--{mark["edge"]})" stroke-width="1.5"' if mark.get("edge") else ""
    return (
        f'<rect x="{px(min(u, s) + gap / 2)}" y="{px(min(v, t) + gap / 2)}" width="{size[0]}" '
        f'height="{size[1]}" fill="var(--{color})" fill-opacity="{fade}"{edge}></rect>'
    )


def _pairs(points: Iterable[Any]) -> list[list[Number]]:
    return [[float(u), float(v)] for u, v in points]


__all__ = [
    "Mark",
    "area",
    "arrow",
    "axis",
    "boxes",
    "dots",
    "legend",
    "line",
    "picture",
    "words",
]

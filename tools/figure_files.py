"""The figures of a page as its reader gets them: sharp, light, and readable in both schemes.

A page that is run for the book makes each figure twice, see ``kernel_settings``: as a drawing
(SVG) and as a picture of twice the resolution (PNG). ``place``, called by ``tools/staged.py``,
keeps the lighter one and says how wide it is. On a dark page a drawing exchanges its background
and its lines, and what would be too dim; one that shows shades of a color map keeps all, for
there light and dark have a meaning. A class of the figure notes how narrow it may become before
its letters are too small.
"""

from __future__ import annotations

import base64
import gzip
import math
import re
import struct
from collections.abc import Callable
from pathlib import Path

from nbformat import NotebookNode

SVG, PNG = "image/svg+xml", "image/png"
SETTINGS = """\
c = get_config()
c.InlineBackend.figure_formats = {"svg", "retina"}
"""
MOST = 300_000  # [bytes] of a drawing that a browser draws without delay
Color = tuple[int, ...]  # red, green, blue, from 0 to 255
WHITE, DARK, LETTERS = (255, 255, 255), (0x1B, 0x1E, 0x22), (0xEC, 0xEF, 0xF2)  # as in a demo
LINES, TEXT = 3.0, 4.5  # contrast that a reader needs (WCAG 2.2)
READABLE = 9  # [px] of the smallest letters
GRAY = 24  # of 255: the greatest distance between the parts of a color without a hue
COLOR = re.compile(r"(fill|stroke): #([0-9a-f]{6})")
LETTER = re.compile(r"scale\((0?\.\d+) -\1\)")  # a text of matplotlib; 0.1 is a size of 10 pt
VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ')
SHADES = re.compile(r"<image\b|id=\"QuadMesh|id=\"PolyCollection_\d+\"|id=\"TriMesh")


def kernel_settings(folder: Path) -> Path:
    """Write the settings of IPython with which a kernel makes both; returns its folder."""
    file = folder / "profile_default" / "ipython_kernel_config.py"
    if not file.exists() or file.read_text("utf-8") != SETTINGS:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SETTINGS, encoding="utf-8")
    return folder


# --- the dark scheme ------------------------------------------------------------------------


def luminance(color: Color) -> float:
    """Relative luminance of a color of 3 parts from 0 to 255 (WCAG 2.2)."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (c / 255 for c in color)
    ]
    return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: Color, other: Color) -> float:
    """From 1 to 21 (WCAG 2.2)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def mixed_until(color: Color, other: Color, good: Callable[[Color], bool]) -> Color:
    """A color with as little of another one as makes it good; the other one if nothing does."""
    for step in range(21):
        share = step / 20
        mixed = tuple(
            round((1 - share) * c + share * o) for c, o in zip(color, other, strict=True)
        )
        if good(mixed):
            return mixed
    return other


def on_dark(color: Color, least: float = LINES) -> Color:
    """The color that takes the place of one that was drawn on white.

    What has no hue is mirrored, so that black becomes light and a faint grid stays faint; what
    has one is mixed with white until it can be seen.
    """
    if max(color) - min(color) <= GRAY:
        share = 1 - sum(color) / (3 * 255)
        return tuple(round(d + share * (w - d)) for d, w in zip(DARK, LETTERS, strict=True))
    return mixed_until(color, WHITE, lambda c: contrast(c, DARK) >= least)


def area_on_dark(color: Color) -> Color:
    """The same for an area: light letters on it must be readable too."""
    if max(color) - min(color) <= GRAY:
        return on_dark(color)
    dimmed = mixed_until(color, DARK, lambda c: contrast(c, LETTERS) >= TEXT)
    return mixed_until(dimmed, WHITE, lambda c: contrast(c, DARK) >= LINES)


def in_dark(svg: str) -> str:
    """The drawing with the colors that it takes where the page is dark."""
    if SHADES.search(svg):
        return svg
    plain, text, areas = [], [], []
    for kind, code in sorted(set(COLOR.findall(svg))):
        color = tuple(bytes.fromhex(code))
        has = f'[style*="{kind}: #{code}"]'
        if kind == "stroke" or color != WHITE:  # white marks lie on lines of a color
            plain.append((has, kind, on_dark(color)))
        if kind == "fill":
            letters = color if color == WHITE else on_dark(color, TEXT)
            text.append((f'[id^="text_"] {has}', kind, letters))
            areas.append((f'[id^="patch_"] {has}', kind, area_on_dark(color)))
    rules = "".join(
        f"{where}{{{kind}:#{bytes(color).hex()}!important}}"
        for where, kind, color in [*plain, *text, *areas]
    )
    own = f"svg{{background:#{bytes(DARK).hex()};fill:#{bytes(LETTERS).hex()}}}"
    style = f"<style>@media (prefers-color-scheme:dark){{{own}{rules}}}</style>"
    return re.sub(r"(<svg\b[^>]*>)", lambda found: found[1] + style, svg, count=1)


# --- one figure -----------------------------------------------------------------------------


def width(data: NotebookNode) -> int | None:
    """How wide a figure is on the page, in its own pixels: half of those of the sharp PNG."""
    if PNG not in data:
        return None
    head = base64.b64decode(data[PNG][:64])
    return struct.unpack(">I", head[16:20])[0] // 2


def least(data: NotebookNode) -> int | None:
    """Width [px] at which the smallest letters of a figure can be read; None without any."""
    svg = data[SVG]
    sizes = [100 * float(size) for size in LETTER.findall(svg)]
    box = VIEW.search(svg)
    return math.ceil(READABLE * float(box[1]) / min(sizes)) if sizes and box else None


def lighter(data: NotebookNode) -> None:
    """Of drawing and picture keep the one that takes less to send."""
    if SVG not in data or PNG not in data:
        return
    svg, png = data[SVG], base64.b64decode(data[PNG])
    if len(svg) <= MOST and len(gzip.compress(svg.encode(), 6)) <= len(png):
        data[SVG] = in_dark(svg)
        del data[PNG]
    else:
        del data[SVG]


def place(nb: NotebookNode) -> None:
    """Choose the form of each figure of a page, and give it its width."""
    for cell in nb.cells:
        shown = [out.data for out in cell.get("outputs", ()) if SVG in out.get("data", {})]
        if not shown:
            continue
        if known := [w for data in shown if (w := width(data))]:
            image = cell.metadata.setdefault("mystnb", {}).setdefault("image", {})
            image.setdefault("width", f"{max(known)}px")
            if widths := [w for data in shown if (w := least(data))]:
                image["classes"] = f"{image.get('classes', '')} least-{max(widths)}".strip()
        for data in shown:
            lighter(data)

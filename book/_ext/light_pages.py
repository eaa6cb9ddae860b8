"""Send a reader what a page shows, and no more.

The theme has every icon twice, as a font and as a script of 1.45 MB that draws it again. The
pages show the same without the script. A picture is asked for when it comes near the screen,
has its place before it is there, and says how narrow it may become (``--least``) before its
letters are too small; on a phone it then moves sideways in its own box. Formulas are typeset
when they come near the screen, see ``mathjax3_config`` in ``_config.yml``; a page that is
printed has all of them. Names, commas and spaces of code, which have the color of plain text,
are plain text: that is four of ten elements of a chapter.
"""

import re
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ICONS = Path("_static", "scripts", "fontawesome.js")
IMAGE = re.compile(r"<img [^>]*>")
PICTURE = re.compile(r'src="[^"]*_images/([^"/]+)"')
WIDE = re.compile(r"width: (\d+)px")
LEAST = re.compile(r'class="[^"]*\bleast-(\d+)')  # of tools/figure_files.py
CODE = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)
PLAIN = "n", "nn", "nx", "p", "pm", "w"  # tokens that both color schemes leave as they are
UNCOLORED = re.compile(rf'<span class="(?:{"|".join(PLAIN)})">([^<]*)</span>')
VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def empty_icon_script(app: Sphinx, exception: Exception | None) -> None:
    """Leave the address of the script, and nothing in it."""
    path = Path(app.outdir) / ICONS
    if exception is None and path.is_file():
        path.write_text("// the icons are a font\n", encoding="utf-8")


def plain_code(body: str) -> str:
    """The page with no element around what code shows in the color of plain text."""
    return CODE.sub(lambda block: UNCOLORED.sub(r"\1", block[0]), body)


# --- pictures -------------------------------------------------------------------------------


@cache
def size(path: Path) -> tuple[float, float] | None:
    """Width and height of a PNG or SVG, in its own units; None for another file."""
    if path.suffix == ".png":
        width, height = struct.unpack(">II", path.read_bytes()[16:24])
        return width, height
    box = VIEW.search(path.read_text(encoding="utf-8")) if path.suffix == ".svg" else None
    return (float(box[1]), float(box[2])) if box else None


def placed(tag: str, sources: Mapping[str, Path]) -> str:
    """The tag of a picture with its size, for a browser that loads it when it is needed."""
    name = PICTURE.search(tag)
    found = size(sources[name[1]]) if name and name[1] in sources else None
    if found is None or "loading=" in tag:
        return tag
    wide = WIDE.search(tag)
    width = int(wide[1]) if wide else round(found[0])
    height = round(width * found[1] / found[0])
    tag = tag.replace("<img ", f'<img loading="lazy" width="{width}" height="{height}" ', 1)
    if least := LEAST.search(tag):
        tag = tag.replace('style="', f'style="--least: {min(int(least[1]), width)}px; ', 1)
    return tag


def lighten(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give each picture of a page its place, and code no more elements than it has colors."""
    if body := context.get("body"):
        found = app.env.images.items()
        sources = {name: Path(app.srcdir, path) for path, (_, name) in found}
        pictures = IMAGE.sub(lambda tag: placed(tag[0], sources), body)
        context["body"] = plain_code(pictures)


def setup(app: Sphinx) -> dict[str, Any]:
    """Once the site is written."""
    app.connect("html-page-context", lighten)
    app.connect("build-finished", empty_icon_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

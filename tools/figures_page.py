"""The figures of the executed notebooks, for the page ``figures.md`` of a staged book.

Called by ``tools/staged.py``. Each figure becomes a small picture that leads to the place of
the figure in its chapter; what it shows is the text that stands for it there.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
from html import escape
from pathlib import Path

import nbformat
from PIL import Image

WIDTH, COLORS = 360, 64  # pixels and colors of a small picture

Notebook = nbformat.NotebookNode


def picture(cell: Notebook) -> bytes | None:
    """The last PNG that a cell shows."""
    found = [
        out["data"]["image/png"]
        for out in cell.get("outputs", ())
        if "image/png" in out.get("data", {})
    ]
    return base64.b64decode(found[-1]) if found else None


def small(png: bytes) -> bytes:
    """A picture at the width of the page, with few colors."""
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    image.thumbnail((WIDTH, 4 * WIDTH), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.quantize(COLORS, method=Image.Quantize.FASTOCTREE).save(out, "PNG", optimize=True)
    return out.getvalue()


def keep_small(png: bytes, folder: Path) -> str:
    """Write the small picture, named by what it is made from, unless it is there already."""
    file = folder / f"{hashlib.sha256(png).hexdigest()[:16]}.png"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_bytes(small(png))
        part.replace(file)  # a run that was stopped leaves no half of a picture
    return file.name


def with_place(nb: Notebook, index: int, name: str) -> None:
    """Give a cell an address: an empty element behind the text before."""
    place = f'<span id="{name}"></span>'
    before = nb.cells[index - 1]
    if before.cell_type == "markdown":
        before.source += f"\n\n{place}"
    else:
        nb.cells.insert(index, nbformat.v4.new_markdown_cell(place, id=name))


def links(nb: Notebook, page: str, folder: Path) -> list[str]:
    """Write the small pictures of a notebook and mark their places in it; returns links."""
    found: list[str] = []
    for cell in list(nb.cells):
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        png = picture(cell)
        if alt is None or png is None:
            continue
        with_place(nb, nb.cells.index(cell), name := f"figure-{len(found) + 1}")
        shown = escape(alt, quote=True)
        found.append(
            f'<a href="{page}.html#{name}" title="{shown}">'
            f'<img src="../_static/figures/{keep_small(png, folder)}" alt="{shown}" '
            'loading="lazy"></a>'
        )
    return found


def part(nb: Notebook, page: str, folder: Path) -> str:
    """The part of the page of figures that shows those of one notebook."""
    title = nb.cells[0].source.split("\n")[0][2:]
    if not (found := links(nb, page, folder)):
        return ""
    body = "\n".join(found)
    return f'## [{title}]({page}.ipynb)\n\n<div class="figure-wall">\n{body}\n</div>\n'


def pictures(text: str, folder: Path) -> set[Path]:
    """The small pictures that the page of figures shows."""
    return {folder / name for name in re.findall(r"_static/figures/([\w.]+)", text)}

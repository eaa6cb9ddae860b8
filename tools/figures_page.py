"""Add the figures of the executed notebooks to the page ``figures.md`` of a staged book.

Called by ``tools/notebooks.py stage``. Each figure becomes a small picture that leads to the
place of the figure in its chapter; what it shows is the text that stands for it there.
"""

from __future__ import annotations

import base64
import io
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


def with_place(nb: Notebook, index: int, name: str) -> None:
    """Give the figure of a cell an address: an empty element behind the text before."""
    place = f'<span id="{name}"></span>'
    before = nb.cells[index - 1]
    if before.cell_type == "markdown":
        before.source += f"\n\n{place}"
    else:
        nb.cells.insert(index, nbformat.v4.new_markdown_cell(place))


def of_notebook(path: Path, folder: Path) -> list[str]:
    """Write the small pictures of a notebook and mark their places in it; returns links."""
    nb, links = nbformat.read(path, as_version=4), []
    for cell in list(nb.cells):
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        png = picture(cell)
        if alt is None or png is None:
            continue
        name = f"figure-{len(links) + 1}"
        file = f"{path.stem}-{len(links) + 1}.png"
        (folder / file).write_bytes(small(png))
        with_place(nb, nb.cells.index(cell), name)
        shown = escape(alt, quote=True)
        links.append(
            f'<a href="{path.stem}.html#{name}" title="{shown}">'
            f'<img src="../_static/figures/{file}" alt="{shown}" loading="lazy"></a>'
        )
    nbformat.write(nb, path)
    return links


def add_figures(book: Path) -> int:
    """Complete ``figures.md`` of a staged book; returns how many figures there are."""
    folder, parts, count = book / "_static" / "figures", [], 0
    folder.mkdir()
    for path in sorted(book.glob("[0-9][0-9]-*.ipynb")):
        title = nbformat.read(path, as_version=4).cells[0].source.split("\n")[0][2:]
        if links := of_notebook(path, folder):
            count += len(links)
            body = "\n".join(links)
            parts.append(
                f'## [{title}]({path.name})\n\n<div class="figure-wall">\n{body}\n</div>\n'
            )
    page = book / "figures.md"
    page.write_text(
        page.read_text(encoding="utf-8") + "\n" + "\n".join(parts), encoding="utf-8"
    )
    return count

"""Put the live model where a page of the book has a place for it.

A notebook marks the place by an HTML block, ``<section data-live="patching">``, with a sentence
for those who read it in Jupyter, where no script runs. The page gets the picture that
``tools/live_views.py`` drew when the book was staged, with the button that starts the model.
"""

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

PLACE = re.compile(r'<section\b[^>]*\bdata-live="([\w-]+)"[^>]*>.*?</section>\s*', re.S)
LIVE = Path("book", "_static", "live")


def place_views(app: Sphinx, doctree: nodes.document) -> None:
    """Fill the places of one page; without a picture the sentence stays."""
    for node in doctree.findall(nodes.raw):
        if found := PLACE.fullmatch(node.astext()):
            path = Path(app.srcdir) / LIVE / f"still-{found[1]}.html"
            app.env.note_dependency(str(path))
            if path.is_file():
                html = path.read_text(encoding="utf-8")
                node.replace_self(nodes.raw("", html, format="html"))


def setup(app: Sphinx) -> dict[str, Any]:
    """As soon as a page has been read."""
    app.connect("doctree-read", place_views)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

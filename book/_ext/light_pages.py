"""Send a reader what a page shows, and no more.

The theme has every icon twice, as a font and as a script of 1.45 MB that draws it again. The
pages show the same without the script. Formulas are typeset when they come near the screen, see
``mathjax3_config`` in ``_config.yml``; a page that is printed has all of them.
"""

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ICONS = Path("_static", "scripts", "fontawesome.js")


def empty_icon_script(app: Sphinx, exception: Exception | None) -> None:
    """Leave the address of the script, and nothing in it."""
    path = Path(app.outdir) / ICONS
    if exception is None and path.is_file():
        path.write_text("// the icons are a font\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Once the site is written."""
    app.connect("build-finished", empty_icon_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

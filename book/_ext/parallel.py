"""Let pages be read by several processes, and spare what is done again for every page."""

import functools
import gc
from typing import Any

import pybtex.plugin
from sphinx.application import Sphinx
from sphinx.config import Config

# They say nothing of processes. The first counts sections when all pages are read, the second
# copies files at the end, the third is for LaTeX and keeps nothing between pages.
SAFE = ("sphinx_multitoc_numbering", "sphinx-mathjax-offline", "sphinx_jupyterbook_latex")
OBJECTS = 500_000  # new ones before Python looks for cycles; a page of nodes has that many


def declare_safe(app: Sphinx, config: Config) -> None:
    """Say for the extensions that do not, so that Sphinx does not fall back to one process."""
    for name in {*SAFE} & {*app.extensions}:
        app.extensions[name].parallel_read_safe = True


def setup(app: Sphinx) -> dict[str, Any]:
    """Each citation would look through all installed packages for the style that it has."""
    pybtex.plugin._load_entry_point = functools.cache(pybtex.plugin._load_entry_point)
    gc.set_threshold(OBJECTS, 50, 50)
    app.connect("config-inited", declare_safe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

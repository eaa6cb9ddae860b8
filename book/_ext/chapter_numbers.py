"""Number each chapter as its file says: ``10-attention`` is chapter 10.

Sphinx counts the pages of a numbered table of contents, so that a book of which three chapters
are written would call them 1, 2 and 3. Sections, equations, figures, tables and exercises take
their first number from the chapter, so this one change reaches them all.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"(?:^|/)(\d\d)-[^/]*$")


def chapter(docname: str) -> int | None:
    """Number at the start of the file's name; None for a page that is no chapter."""
    found = CHAPTER.search(docname)
    return int(found[1]) if found else None


def renumber(env: Any, docname: str, number: int) -> None:
    """Replace the first part of every section number of one page."""
    numbers = env.toc_secnumbers[docname]
    for anchor, old in numbers.items():
        numbers[anchor] = (number, *old[1:]) if old else old
    for node in [env.titles[docname], *env.tocs[docname].findall(nodes.reference)]:
        if old := node.get("secnumber"):
            node["secnumber"] = [number, *old[1:]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Renumber when sections have their numbers and figures do not have theirs yet."""
    assign_figure_numbers = TocTreeCollector.assign_figure_numbers

    def renumber_first(self: TocTreeCollector, env: Any) -> list[str]:
        for docname in env.toc_secnumbers:
            if (number := chapter(docname)) is not None:
                renumber(env, docname, number)
        return assign_figure_numbers(self, env)

    TocTreeCollector.assign_figure_numbers = renumber_first  # type: ignore[method-assign]
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Number each chapter as its file says: ``10-attention`` is chapter 10.

Sphinx counts the pages of a numbered table of contents, so that a book of which three chapters
are written would call them 1, 2 and 3. Sections, equations, figures, tables and exercises take
their first number from the chapter, so this one change reaches them all.

To number figures, Sphinx would load every page again, the changed and the unchanged: an eighth
of its time. What it looks for there, an outline, is kept when the page is read.
"""

import re
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"(?:^|/)(\d\d)-[^/]*$")
CAPTIONS = (nodes.caption, nodes.title, nodes.literal_block)  # by which a figure is one


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


# --- outlines -------------------------------------------------------------------------------


def is_numbered(env: Any, node: nodes.Element) -> bool:
    """Whether a node is of a kind that may have a number, such as a figure or an exercise."""
    return any(domain.get_enumerable_node_type(node) for domain in env.domains.values())


def bare(node: nodes.Element, children: list[nodes.Element]) -> nodes.Element:
    """A copy of a node that holds these children and knows nothing of its page."""
    copy = node.__class__("", **node.attributes)
    copy += children
    return copy


def outline(env: Any, node: nodes.Element) -> nodes.Element | None:
    """What is left of a node when all that has no number is gone; None if that is all."""
    kept = outlines(env, node)
    if is_numbered(env, node):
        kept += [type(child)("", "x") for child in node.children if isinstance(child, CAPTIONS)]
    elif not kept and not isinstance(node, addnodes.toctree):
        return None
    return bare(node, kept)


def outlines(env: Any, node: nodes.Element) -> list[nodes.Element]:
    """What is left of the children of a node."""
    inside = [child for child in node.children if isinstance(child, nodes.Element)]
    return [found for child in inside if (found := outline(env, child)) is not None]


def keep_outline(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the outline of the page that has just been read."""
    env: Any = app.env
    env.outlines = {**getattr(env, "outlines", {})}
    env.outlines[env.docname] = nodes.Element("", *outlines(env, doctree))


def merge_outlines(app: Sphinx, env: Any, docnames: list[str], other: Any) -> None:
    """Take the outlines of pages that another process has read."""
    env.outlines = getattr(env, "outlines", {}) | {
        name: other.outlines[name] for name in docnames
    }


# --- the extension --------------------------------------------------------------------------


def setup(app: Sphinx) -> dict[str, Any]:
    """Renumber when sections have their numbers and figures do not have theirs yet."""
    assign_figure_numbers = TocTreeCollector.assign_figure_numbers

    def renumber_first(self: TocTreeCollector, env: Any) -> list[str]:
        for docname in env.toc_secnumbers:
            if (number := chapter(docname)) is not None:
                renumber(env, docname, number)
        env.get_doctree = env.outlines.__getitem__
        try:
            return assign_figure_numbers(self, env)
        finally:
            del env.get_doctree

    TocTreeCollector.assign_figure_numbers = renumber_first  # type: ignore[method-assign]
    app.connect("doctree-read", keep_outline, priority=900)
    app.connect("env-merge-info", merge_outlines)
    return {"env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}

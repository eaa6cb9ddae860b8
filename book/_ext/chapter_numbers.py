"""Number each chapter as its file says: ``10-attention`` is chapter 10.

Sphinx counts the pages of a numbered table of contents, so that a book of which three chapters
are written would call them 1, 2 and 3. Sections, equations, figures, tables and exercises take
their first number from the chapter, so this one change reaches them all. A chapter of several
pages has a letter for each: the pages of chapter 20 are 20a, 20b and 20c, and not 20, 20.14 and
20.15, after the sections of the first one.

To number figures, Sphinx would load every page again, the changed and the unchanged: an eighth
of its time. What it looks for there, an outline, is kept when the page is read.
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from string import ascii_lowercase
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"(?:^|/)(\d\d)-[^/]*$")
PARTS = 2  # of a number: the page and its section
CAPTIONS = (nodes.caption, nodes.title, nodes.literal_block)  # by which a figure is one


def chapter(docname: str) -> int | None:
    """Number at the start of the file's name; None for a page that is no chapter."""
    found = CHAPTER.search(docname)
    return int(found[1]) if found else None


def labels(titles: Mapping[str, Sequence[int]]) -> dict[str, int | str]:
    """Number of the chapter of each page, with a letter where the chapter has several pages.

    Args:
        titles: What Sphinx counted for the title of each page.
    """
    chapters: dict[int, list[str]] = {}
    for docname in sorted(titles, key=lambda name: tuple(titles[name])):
        if (number := chapter(docname)) is not None:
            chapters.setdefault(number, []).append(docname)
    return {
        docname: f"{number}{letter}" if len(pages) > 1 else number
        for number, pages in chapters.items()
        for letter, docname in zip(ascii_lowercase, pages, strict=False)
    }


def renumber(env: Any, docname: str, label: int | str, depth: int) -> None:
    """Replace the number of a page, of so many parts, at the start of each section's number."""
    numbers = env.toc_secnumbers[docname]

    def new(old: Sequence[int] | None) -> tuple[int | str, ...] | None:
        found = (label, *old[depth:]) if old else ()
        return found if 0 < len(found) <= PARTS else None

    for anchor, old in numbers.items():
        numbers[anchor] = new(old)
    for node in [env.titles[docname], *env.tocs[docname].findall(nodes.reference)]:
        if number := new(node.get("secnumber")):
            node["secnumber"] = list(number)
        else:
            node.attributes.pop("secnumber", None)


def renumber_pages(env: Any) -> None:
    """Number all pages as :func:`labels` says."""
    titles = {name: rows[""] for name, rows in env.toc_secnumbers.items() if rows.get("")}
    for docname, label in labels(titles).items():
        renumber(env, docname, label, len(titles[docname]))


def show_counted(app: Sphinx, env: Any) -> list[str]:
    """Let Sphinx compare its new count with its last one, not with our numbers.

    It writes each page again that it finds counted differently, and would find all of them.
    """
    env.numbered, env.toc_secnumbers = env.toc_secnumbers, getattr(env, "counted", {})
    return []


def renumbered(env: Any) -> list[str]:
    """Number all pages; those that have other numbers than in the last site."""
    env.counted = deepcopy(env.toc_secnumbers)
    renumber_pages(env)
    old, env.numbered = env.numbered, {}
    return [name for name, now in env.toc_secnumbers.items() if now != old.get(name)]


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
        changed = renumbered(env)
        env.get_doctree = env.outlines.__getitem__
        try:
            return changed + assign_figure_numbers(self, env)
        finally:
            del env.get_doctree

    TocTreeCollector.assign_figure_numbers = renumber_first  # type: ignore[method-assign]
    app.connect("env-get-updated", show_counted, priority=100)  # before Sphinx counts
    app.connect("doctree-read", keep_outline, priority=900)
    app.connect("env-merge-info", merge_outlines)
    return {"env_version": 2, "parallel_read_safe": True, "parallel_write_safe": True}

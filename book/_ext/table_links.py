"""Links in the tables "In the package" and on the page of equations: functions and their tests.

A function, class or method leads to its documentation. A test, and a function of a chapter's
laboratory, leads to its lines in the repository; while that has no address they stay text.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from addresses import is_placeholder
from docutils import nodes
from source_links import lines
from sphinx.application import Sphinx

import mathlm

SECTION, INDEX = "in-the-package", "book/equations"
ROOT = Path(mathlm.__file__).resolve().parents[1]
NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?=$|\()")  # "layers.LSTM(..., forget_bias=b)"
TEST = re.compile(r"(?P<file>(?:[\w-]+/)*test_\w+\.py)?(?:::(?P<name>\w+))?")


def entries(doctree: nodes.document, page: str) -> Iterator[nodes.entry]:
    """Cells of the tables that name functions and tests."""
    for table in doctree.findall(nodes.table):
        section = table.parent
        while section is not None and not isinstance(section, nodes.section):
            section = section.parent
        if page == INDEX or (section is not None and SECTION in section["ids"]):
            yield from table.findall(nodes.entry)


def test_place(text: str, before: str) -> str | None:
    """Path of a test in the repository, with ``#L`` and its line where it is one function.

    Args:
        text: As in the table: "tests/a/test_b.py::test_c", without "tests/" on the page of
            equations, after another one also "test_d.py" beside it or "::test_e" in it.
        before: Path of the test before in the cell, or "".

    Returns:
        None if there is no such test.
    """
    found = TEST.fullmatch(text)
    if not text or found is None:
        return None
    name = found["file"] or before
    beside = (Path(before).parent / name).as_posix()
    for path in dict.fromkeys((name, f"tests/{name}", beside)):
        if name and (ROOT / path).is_file() and path.startswith("tests/"):
            line = lines(str(ROOT / path)).get(found["name"] or "")
            return f"{path}#L{line}" if line else path
    return None


def documented(text: str, known: Callable[[str], bool]) -> str | None:
    """Whole name of what a table names, or of the class of a method; None if unknown.

    Args:
        text: As in the table, from the layer on: "layers.LSTM(..., forget_bias=b)".
        known: Whether the pages of the API have an object of this name.
    """
    if (found := NAME.match(text)) is None:
        return None
    name = "mathlm." + found[0].removeprefix("mathlm.")
    for whole in (name, name.rpartition(".")[0]):
        if whole.count(".") > 1 and known(whole):
            return whole
    return None


def lab_place(text: str) -> str | None:
    """Path and line in the repository of a function of the laboratory; None if it has none.

    Args:
        text: As in the table: "lab.attention.soft_lookup.train".
    """
    name = NAME.match(text)
    module, _, function = name[0].rpartition(".") if name else ("", "", "")
    file = f"book/{module.replace('.', '/')}.py"
    if not module.startswith("lab.") or not (ROOT / file).is_file():
        return None
    line = lines(str(ROOT / file)).get(function)
    return f"{file}#L{line}" if line else None


def add_links(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Make links of the names in the tables of a page."""
    objects = app.env.get_domain("py").objects
    theme = app.config.html_theme_options
    public = "" if is_placeholder(theme["repository_url"]) else theme["repository_url"]
    for entry in entries(doctree, page):
        before = ""
        for literal in list(entry.findall(nodes.literal)):
            text = literal.astext()
            if isinstance(literal.parent, nodes.reference):
                continue
            test = test_place(text, before)
            before = test.partition("#")[0] if test else before
            if place := test or lab_place(text):
                if public:
                    address = f"{public}/blob/{theme['repository_branch']}/{place}"
                    _link(literal, nodes.reference("", "", refuri=address, internal=False))
            elif whole := documented(text, objects.__contains__):
                there = objects[whole]
                address = f"{app.builder.get_relative_uri(page, there.docname)}#{there.node_id}"
                _link(
                    literal,
                    nodes.reference("", "", refuri=address, internal=True, reftitle=whole),
                )


def _link(literal: nodes.literal, link: nodes.reference) -> None:
    """Put a link around a name."""
    literal.replace_self(link)
    link += literal


def setup(app: Sphinx) -> dict[str, Any]:
    """When the names of all pages are known."""
    app.connect("doctree-resolved", add_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

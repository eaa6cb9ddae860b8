"""The guides say what their commands say."""

import ast
import re

import nbformat
import pytest
from notebooks import BOOK

TITLE = "## What can go wrong"


def cells(path, kind):
    return [c.source for c in nbformat.read(path, 4).cells if c.cell_type == kind]


def provoked(path):
    """The messages that the last code cell of a guide provokes: its ``messages``."""
    tree = ast.parse(cells(path, "code")[-1])
    values = [
        node.value.values
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "messages"
    ]
    return {ast.literal_eval(value) for found in values for value in found}


def listed(path):
    """The messages in the table of what can go wrong: rows that begin with code alone."""
    table = "\n".join(cells(path, "markdown")).split(TITLE)[1]
    return set(re.findall(r"^\| `([^`|]+)` \|", table, re.MULTILINE))


GUIDES = [
    p for p in sorted(BOOK.glob("guide-*.ipynb")) if "messages = {" in p.read_text("utf-8")
]


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_the_table_of_what_can_go_wrong_has_the_messages_that_the_page_provokes(path):
    assert provoked(path)
    assert listed(path) == provoked(path)


@pytest.mark.parametrize("path", sorted(BOOK.glob("guide-*.ipynb")), ids=lambda path: path.stem)
def test_a_guide_asks_a_question_and_ends_with_what_can_go_wrong(path):
    said = cells(path, "markdown")
    assert re.match(r"# .+\n\n.*\*.+\?\*", said[0])
    assert TITLE in said[-1]

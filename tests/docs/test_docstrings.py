"""Docstrings are valid reStructuredText where writing mathematics goes wrong most easily."""

import ast
import re

import pytest
from sources import expect_in_none, nodes

DEFINITIONS = ast.Module | ast.ClassDef | ast.FunctionDef
END = r"(?=$|[\s'\")\]}>\-/\\:.,;!?·])"  # what may follow the end of inline markup
LITERAL = re.compile(r"``.*?``|:\w+:`[^`]*`|`[^`]*`_", re.DOTALL)
EXAMPLE = re.compile(r"^ *>>> .*(?:\n *\S.*)*", re.MULTILINE)  # a block, up to an empty line
EMPHASIS = re.compile(r"(?<!\S)\*[^\s*][^*]*\*" + END)
ARGUMENT = re.compile(r"^ +\w+: ", re.MULTILINE)  # escaped by napoleon
OPEN_STAR = re.compile(r"(?:^|[\s(\[{<])\*(?![\s*])")  # *batch opens an emphasis
OPEN_NAME = re.compile(r"(?<!\w)\w*[^\W_]_" + END, re.MULTILINE)  # p_ links to a target p


def prose(text):
    """A docstring without what stands in literal blocks, examples and literals."""
    lines, depth = [], None
    text = EXAMPLE.sub("", text)
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is None:
            lines.append(line)
            if line.rstrip().endswith("::"):
                depth = indent
    return EMPHASIS.sub("", LITERAL.sub("", "\n".join(lines)))


def open_markup(file):
    """By definition, what its docstring opens as markup and should show as mathematics."""
    texts = [
        (
            getattr(node, "name", "module"),
            prose(ARGUMENT.sub("", ast.get_docstring(node) or "")),
        )
        for node in nodes(file)
        if isinstance(node, DEFINITIONS)
    ]
    found = [(name, OPEN_STAR.findall(t) + OPEN_NAME.findall(t)) for name, t in texts]
    return [(name, marks) for name, marks in found if marks]


@pytest.mark.slow
def test_stars_and_underscores_of_mathematics_stand_in_literals():
    expect_in_none(open_markup)


@pytest.mark.parametrize(
    "text", ["x (*batch, T)", "where p_ is", "as in\n*args", ">>> f(x)\n\nof *x"]
)
def test_what_sphinx_refuses_is_found(text):
    assert OPEN_STAR.search(prose(text)) or OPEN_NAME.search(prose(text))


@pytest.mark.parametrize(
    "text",
    [
        "``(*batch, T)``",
        "d_k ** 2",
        "σ_{k} or",
        "is *not* x",
        "as::\n\n    p_ *x\n\nend",
        ">>> f(*x)\n1",
    ],
)
def test_what_sphinx_takes_is_left_alone(text):
    assert not OPEN_STAR.search(prose(text))
    assert not OPEN_NAME.search(prose(text))

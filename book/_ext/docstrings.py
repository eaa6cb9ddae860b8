"""Docstrings as pages: equations are typeset, arguments have their types, and a bar is a bar.

"Implements eq-label::" becomes a link to that equation of the book, with the equation as the
chapter writes it before the lines in which the docstring writes it; a label that is not there
is a warning, and so an error. An argument gets its annotation: of an array what it holds and
its shape, in the letters of ``mathlm.shapes``. In prose, "|x|" means an absolute value and
never a substitution.
"""

import inspect
import re
import typing
from functools import cache
from typing import Any

from index_page import formulas  # of tools/, as make_book.py and the tests find it
from sphinx.application import Sphinx

LEAD_IN = re.compile(r"^\s*Implements (.*)::$")
LABEL = re.compile(r"\beq-[a-z0-9-]+")
LITERAL = re.compile(r"(``.*?``)")
PARAMETER = re.compile(r"^:param (?P<stars>(?:\\?\*)*)(?P<name>\w+):")
MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=\w)")


equations = cache(formulas)  # one reading of the chapters for all docstrings


def link(line: str) -> str:
    """The line with each equation label as a reference; other lines as they are."""
    return LABEL.sub(r":eq:`\g<0>`", line) if LEAD_IN.match(line) else line


# --- equations ------------------------------------------------------------------------------


def typeset(line: str, known: dict[str, str]) -> list[str]:
    """The lines that take the place of "Implements eq-label::"."""
    if not LEAD_IN.match(line):
        return [line]
    labels = [label for label in LABEL.findall(line) if label in known]
    if not labels:
        return [link(line)]
    space = " " * indent(line)
    found = [link(line).rstrip()[:-1], ""]  # one colon
    for label in labels:
        found += [f"{space}.. math::", "", f"{space}   {known[label]}", ""]
    return [*found, f"{space}In the letters of the code::"]


# --- types of arguments ---------------------------------------------------------------------


def described(annotation: Any) -> str:
    """An annotation in words: of an array what it holds and its shape, else its name."""
    if (dims := getattr(annotation, "dim_str", None)) is not None:
        kind = annotation.__name__.partition("[")[0].lower()
        array = getattr(annotation.array_type, "__name__", "array")
        shape = ", ".join(dims.split())
        return (
            f"{array} of {kind}, shape ({shape})" if shape else f"{array} of {kind}, a number"
        )
    args = typing.get_args(annotation)
    if args and inspect.formatannotation(annotation).count(" | ") + 1 == len(args):
        return " or ".join(described(arg) for arg in args)
    if annotation is type(None):
        return "None"
    return MODULES.sub("", inspect.formatannotation(annotation))


def annotations(obj: Any) -> dict[str, Any]:
    """Annotations of the arguments of a function, or of what makes an object of a class."""
    made = obj.__init__ if inspect.isclass(obj) else obj
    try:
        return typing.get_type_hints(made)
    except Exception:  # a name that is known to type checkers only
        return getattr(made, "__annotations__", {})


def with_types(lines: list[str], known: dict[str, Any]) -> list[str]:
    """The lines with a type after each argument that has one and does not say it."""
    found = []
    for line in lines:
        found.append(line)
        named = PARAMETER.match(line)
        if named and named["name"] in known:
            # a literal: as words, Sphinx would take each for a name and look for its page
            kind = described(known[named["name"]])
            found.insert(-1, f":type {named['name']}: ``{kind}``")
    return found


def escape_bars(line: str) -> str:
    """Backslashes before the bars that stand outside of literals."""
    parts = LITERAL.split(line)
    return "".join(p if p.startswith("``") else p.replace("|", "\\|") for p in parts)


def indent(line: str) -> int:
    """Number of leading blanks."""
    return len(line) - len(line.lstrip())


def process(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Replace the lines of one docstring, as autodoc asks: in place."""
    literal, example = -1, False  # indent of what opened a literal block; within a doctest
    known, found = equations(), []
    for line in with_types(lines, annotations(obj)):
        if line.strip() and indent(line) <= literal:
            literal = -1
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if literal < 0 and not example and not line.lstrip().startswith(":type "):
            found += typeset(escape_bars(line), known)
        else:
            found.append(line)
        if literal < 0 and not example and line.rstrip().endswith("::"):
            literal = indent(line)
    lines[:] = found


def moved_labels(app: Sphinx, env: Any) -> list[str]:
    """Every page, if the equation of a label has moved to another page: links to it are old."""
    places = {label: place[0] for label, place in env.get_domain("math").equations.items()}
    before = getattr(env, "places_of_equations", places)
    env.places_of_equations = places
    moved = any(places.get(label, page) != page for label, page in before.items())
    return sorted(env.found_docs) if moved else []


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen to autodoc, after napoleon, and to what a build has read."""
    app.connect("autodoc-process-docstring", process, priority=900)
    app.connect("env-updated", moved_labels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

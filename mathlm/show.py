"""The tested implementation on the page: ``mathlm.show(reference.layer_norm)``.

The module is callable, so that ``mathlm.show`` is the function whichever was imported first.
"""

import ast
import functools
import inspect
import os
import re
import sys
import textwrap
from collections.abc import Callable
from html import escape
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import InputTypeError

HOMES = {"mathlm": "", "lab": "book/"}  # where in the repository a package stands
LABEL = re.compile(r"\beq-[a-z0-9-]+")
DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
STYLE = """<style>
:where(.mathlm-show pre) {overflow-x: auto}
:where(.mathlm-show :is(.k, .kn, .kc, .ow)) {
  font-weight: 600; color: var(--jp-mirror-editor-keyword-color, inherit)}
:where(.mathlm-show :is(.c1, .s, .s1, .s2)) {
  font-style: italic; color: var(--jp-mirror-editor-comment-color, inherit)}
</style>"""  # :where counts for nothing: a theme that colors code has its way


class Shown:
    """Source code as a notebook shows it: plain text, and HTML where it is not compared.

    Args:
        source: Lines of Python, without docstrings.
        places: Path of the file, labels of equations and path of the test, as far as known.
    """

    def __init__(self, source: str, places: tuple[str, ...] = ()) -> None:
        self.source, self.places = source, places

    def __repr__(self) -> str:
        """The source, and one line that says where it stands."""
        return "\n\n".join([self.source, *["# " + " · ".join(self.places)][: len(self.places)]])

    def _repr_html_(self) -> str | None:
        """Highlighted, with links; nothing in the book's own build, which makes its own."""
        return None if os.environ.get("MATHLM_STRICT") == "1" else STYLE + self.html(address)

    def html(self, link: Callable[[str], str | None]) -> str:
        """The source with its places as links.

        Args:
            link: Gives the address of a place, or None if it has none.
        """
        linked = [(place, link(place)) for place in self.places]
        places = [
            f'<a href="{escape(to)}"><code>{escape(place)}</code></a>'
            if to
            else f"<code>{escape(place)}</code>"
            for place, to in linked
        ]
        below = f'\n<p class="places">{" · ".join(places)}</p>' if places else ""
        return f'<div class="mathlm-show">\n{_highlighted(self.source)}{below}\n</div>'


def show(*functions: Any) -> Shown:
    """Show the source code of functions, classes or methods without their docstrings.

    As the last line of a cell it prints the implementation that the tests hold, with links to
    the file, to the equation that the docstring says it implements, and to the test.

    Args:
        functions: Written in Python; those of one file share one line of links.

    Returns:
        What a notebook displays: highlighted code in a browser, plain text elsewhere.

    Raises:
        InputTypeError: If there is no Python source of one of them, or nothing to show.

    Example:
        >>> from mathlm import reference, show
        >>> show(reference.silu).places[0]
        'mathlm/reference/network/activation.py'
    """
    if not functions:
        raise InputTypeError("show() needs a function, a class or a method, got nothing")
    plain = [_plain(function) for function in functions]
    source = "\n\n\n".join(map(_source, plain))
    places = dict.fromkeys(place for function in plain for place in _places(function))
    return Shown(source, tuple(sorted(places, key=_order)))


def address(place: str) -> str | None:
    """Where the repository has a place; None for an equation, and where nobody knows it."""
    try:
        urls = metadata("mathlm").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    found = [url.split(", ")[1] for url in urls if url.startswith("Repository, ")]
    return f"{found[0]}/blob/HEAD/{place}" if found and "/" in place else None


def _order(place: str) -> int:
    """Files of source code come first, then equations, then tests."""
    return 2 * place.startswith("tests/") + place.startswith("eq-")


def _plain(function: Any) -> Any:
    """The function that was written, without what wraps it."""
    inner = function
    if not inspect.isclass(function):  # whose fget and func are methods of its own
        inner = getattr(function, "fget", None) or getattr(function, "func", None) or function
    return inspect.unwrap(getattr(inner, "__func__", inner)) if callable(inner) else inner


def _source(function: Any) -> str:
    """The lines of a definition without its docstrings."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
        tree = _tree(text)
    except (TypeError, OSError, SyntaxError):  # the last: a lambda in the midst of a line
        raise InputTypeError(
            f"{function!r} has no Python source to show: name a function, a class or a method"
        ) from None
    lines = text.rstrip().split("\n")
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) and len(node.body) > 1:
            for i in range(node.body[0].lineno - 1, node.body[1].lineno - 1):
                lines[i] = lines[i] if _is_kept(node, i, lines[i]) else "\0"
    return "\n".join(line for line in lines if line != "\0")


def _tree(text: str) -> ast.AST:
    """The syntax of lines; a string at the margin may have kept them indented."""
    indented = text[0].isspace()
    return ast.increment_lineno(ast.parse("if True:\n" * indented + text), -indented)


def _is_kept(node: Any, i: int, line: str) -> bool:
    """Whether a line between a docstring and what follows is a comment or a decorator."""
    return i >= node.body[0].end_lineno and bool(line.strip())


def _places(function: Any) -> list[str]:
    """Path of the file, equations, and path of the test in the repository."""
    module = getattr(function, "__module__", None) or ""
    top, *inner = module.split(".")
    if top not in HOMES or (file := inspect.getsourcefile(function)) is None:
        return []
    home = Path(file).parents[len(inner) + (Path(file).stem == "__init__")]
    name = Path(file).relative_to(home)
    labels = [
        label
        for line in (function.__doc__ or "").split("\n")
        if line.strip().startswith("Implements ")
        for label in LABEL.findall(line)
    ]
    below = name.parent.relative_to("mathlm") if top == "mathlm" else name.parent
    test = (Path("tests") / below / f"test_{name.name}").as_posix()
    tests = [test] if (home.parent if HOMES[top] else home).joinpath(test).is_file() else []
    return [HOMES[top] + name.as_posix(), *labels, *tests]


def _highlighted(source: str) -> str:
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return f'<div class="highlight"><pre>{escape(source)}\n</pre></div>'
    return highlight(source, PythonLexer(), HtmlFormatter()).rstrip()


class _Callable(ModuleType):
    """A module that shows what it is called with."""

    @functools.wraps(show)
    def __call__(self, *functions: Any) -> Shown:
        return show(*functions)


sys.modules[__name__].__class__ = _Callable

__all__ = ["show"]

"""Docstrings as pages: equations become links, and a bar is a bar.

"Implements eq-label::" becomes a link to that equation of the book; a label that is not there
is a warning, and so an error. In prose, "|x|" means an absolute value and never a substitution.
"""

import re
from typing import Any

from sphinx.application import Sphinx

LEAD_IN = re.compile(r"^\s*Implements (.*)::$")
LABEL = re.compile(r"\beq-[a-z0-9-]+")
LITERAL = re.compile(r"(``.*?``)")


def link(line: str) -> str:
    """The line with each equation label as a reference; other lines as they are."""
    return LABEL.sub(r":eq:`\g<0>`", line) if LEAD_IN.match(line) else line


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
    literal = -1  # indent of the line that opened a literal block
    for i, line in enumerate(lines):
        if line.strip() and indent(line) <= literal:
            literal = -1
        if literal < 0 and not line.lstrip().startswith(">>>"):
            lines[i] = link(escape_bars(line))
        if literal < 0 and line.rstrip().endswith("::"):
            literal = indent(line)


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

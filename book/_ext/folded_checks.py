"""Fold the assertions of a cell: lines below ``# checks`` show as "✓ 3 checks", which opens.

The notebook holds ordinary lines; only the page folds them. The fold stands inside the block of
code, so that the button at its corner still copies all of it.
"""

import ast
import re
import textwrap
from html import unescape
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(
    r'(<div class="cell_input[^>]*>\s*<div class="highlight-.*?<pre>)(.*?)(</pre>)', re.S
)
MARK = re.compile(r'^((?:<span></span>)?)[ ]*<span class="c1"># checks</span>\n', re.M)
CHECKS = re.compile(r"assert|check$")


def name(call: ast.Call) -> str:
    """What is called, without what it belongs to."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def count(source: str) -> int:
    """How many assertions stand in these lines; a loop's count once."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:  # a magic command
        return len(re.findall(r"\bassert|\bcheck\(", source))
    return sum(
        isinstance(node, ast.Assert)
        or (isinstance(node, ast.Call) and bool(CHECKS.match(name(node))))
        for node in ast.walk(tree)
    )


def fold(code: str) -> str:
    """The inside of a block of code with a fold from its line ``# checks`` on."""
    if (mark := MARK.search(code)) is None:
        return code
    before, lines = code[: mark.start()] + mark[1], code[mark.end(1) :].rstrip("\n")
    number = count(unescape(re.sub(r"<[^>]+>", "", lines)))
    title = f"✓ {number} check{'s' if number != 1 else ''}"
    return f'{before}<details class="checks"><summary>{title}</summary>{lines}\n</details>'


def fold_page(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Fold the checks of one page, as Sphinx is about to write it."""
    if "# checks</span>" in context.get("body", ""):
        context["body"] = CODE.sub(lambda c: c[1] + fold(c[2]) + c[3], context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Fold after all else has shaped the page."""
    app.connect("html-page-context", fold_page, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

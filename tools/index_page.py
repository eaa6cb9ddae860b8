"""Make the index of equations from the tables "In the package" that close the chapters.

python tools/index_page.py write    book/equations.md
python tools/index_page.py check    exit 1 unless it is what the notebooks say
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "book"
TABLE = re.compile(r"^## In the package\n(?P<body>.*)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
DISPLAY = re.compile(r"\$\$(?P<tex>[^$]+)\$\$ \((?P<label>eq-[a-z0-9-]+)\)")
NUMBER = re.compile(r"\{eq\}`(eq-[a-z0-9-]+)`")
LONGEST = 170  # letters of a formula that has its place in a table
HEAD = """# Equations, functions, tests

A result of the book has a function that transcribes it, and a test that holds the function to a
definition, to finite differences, to an independent library or to a calculation by hand. This
page is made from the tables that close the chapters; steps that only lead to a result are not
in it. A number in parentheses leads to the equation in its chapter, which has what is too long
for a table, a function to its documentation. A test is a path below `tests/`; it leads to its
source where the book has a public repository.
"""
TABLE_HEAD = "| equation | function | test |\n| --- | --- | --- |\n"


def markdown(path: Path) -> Iterator[str]:
    """The markdown cells of a notebook."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "markdown":
            yield "".join(cell["source"])


def rows(path: Path) -> Iterator[list[str]]:
    """Cells of each row of the closing table of a chapter, without its head."""
    for text in markdown(path):
        if found := TABLE.search(text):
            lines = [line for line in found["body"].split("\n") if line.startswith("|")]
            for line in lines[2:]:
                yield [part.strip() for part in line.strip("|").split(" | ")]


def documented() -> set[str]:
    """Names that the pages of the API document, from mathlm on."""
    names, module = set(), ""
    for path in sorted((BOOK / "api").glob("*.md")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if found := re.match(
                r"\.\. (?:py:)?(currentmodule|module|auto\w+|data)::\s+(\S+)", line
            ):
                kind, name = found.groups()
                if kind in ("currentmodule", "module"):
                    module = name
                else:
                    names.add(name if name.startswith("mathlm.") else f"{module}.{name}")
    return names


def linked(text: str, known: set[str]) -> str:
    """Functions in a cell of a table as links to their documentation, where there is one."""

    def link(found: re.Match[str]) -> str:
        name = found[1] if found[1].startswith("mathlm.") else f"mathlm.{found[1]}"
        parts = name.split(".")
        for end in (len(parts), len(parts) - 1):  # a method is on the page of its class
            if (target := ".".join(parts[:end])) in known:
                return f"{{py:obj}}`{found[1]} <{target}>`"
        return found[0]

    return CODE.sub(link, text)


def formulas() -> dict[str, str]:
    """TeX of each equation that has a label, for a line of text."""
    found = {}
    for path in sorted(BOOK.glob("[0-9][0-9]-*.ipynb")):
        for text in markdown(path):
            for one in DISPLAY.finditer(text):
                found[one["label"]] = " ".join(one["tex"].split()).rstrip(".,; ")
    return found


def in_table(tex: str) -> str:
    """A formula for a cell of a table, in which a bar would end the cell."""
    safe = tex.replace("\\|", r"\Vert ").replace("|", r"\vert ")
    return f"$\\displaystyle {safe}$"


def shown(text: str, known: dict[str, str]) -> str:
    """Numbers of equations in a cell, each with its formula unless that is too long."""

    def with_formula(found: re.Match[str]) -> str:
        tex = known.get(found[1], "")
        return f"{found[0]} {in_table(tex)}" if tex and len(tex) <= LONGEST else found[0]

    return NUMBER.sub(with_formula, text)


def test_path(text: str) -> str:
    """A test as its path below tests/."""
    return text.replace("`tests/", "`")


def page() -> str:
    """The whole index."""
    known, tex, parts, count = documented(), formulas(), [], 0
    for path in sorted(BOOK.glob("[0-9][0-9]-*.ipynb")):
        table = [row for row in rows(path) if len(row) == 3]
        if not table:
            continue
        count += len(table)
        title = next(text for text in markdown(path) if text.startswith("# ")).split("\n")[0]
        lines = [
            f"| {shown(a, tex)} | {linked(b, known)} | {test_path(c)} |" for a, b, c in table
        ]
        head = f"## [{title[2:]}]({path.name})\n\n{TABLE_HEAD}"
        parts.append(head + "\n".join(lines) + "\n")
    return f"{HEAD}\n{count} rows.\n\n" + "\n".join(parts)


def main(argv: list[str]) -> int:
    """Write the page, or say that it is not what the notebooks say."""
    if argv not in (["write"], ["check"]):
        print(__doc__)
        return 2
    path, text = BOOK / "equations.md", page()
    if argv == ["write"]:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        print(
            "book/equations.md is not what the notebooks say: python tools/index_page.py write"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

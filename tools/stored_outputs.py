"""Compare what the pages showed when they ran with the outputs that they store.

    python tools/stored_outputs.py            after tools/make_book.py execute

The text of each code cell must be the same to the letter, but for addresses in memory and for
cells tagged ``nbval-ignore-output``. Pictures are not compared. Exits with 1 if a cell differs.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import nbformat
from notebooks import Notebook, code_cells, notebooks, tags
from running import own_cells, result

ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def shown(cell: Notebook) -> dict[str, str]:
    """What a cell printed and showed as text, by kind."""
    kinds: dict[str, str] = defaultdict(str)
    for out in cell.outputs:
        named = {out.get("name", "error"): out.get("text", out.get("ename"))}
        for kind, text in out.get("data", named).items():
            if not kind.startswith("image/"):
                kinds[kind] += ADDRESS.sub("0xADDR", str(text))
    return dict(kinds)


def differences(stored: Notebook, run: Notebook) -> list[str]:
    """A line for each code cell of a page that showed something else than it stores."""
    found = []
    pairs = zip(code_cells(stored), own_cells(run), strict=True)
    for number, (cell, again) in enumerate(pairs, start=1):
        old, new = shown(cell), shown(again)
        for kind in sorted({*old, *new}):
            if "nbval-ignore-output" not in tags(cell) and old.get(kind) != new.get(kind):
                said = f"{kind} is {new.get(kind)!r}, stored is {old.get(kind)!r}"
                found.append(f"code cell {number}: {said}")
    return found


def compare(page: Path, device: str = "cpu") -> list[str]:
    """What differs on a page, or that it has not run."""
    if not (run := result(page.stem, device)).exists():
        return ["has not run: python tools/make_book.py execute"]
    return differences(*(nbformat.read(file, as_version=4) for file in (page, run)))


def main() -> int:
    found = {page.name: lines for page in notebooks() if (lines := compare(page))}
    for name, lines in found.items():
        print(f"{name}:", *lines, sep="\n  ")
        print(f"  if this is right: python tools/notebooks.py refresh book/{name}")
    print(f"outputs: {len(notebooks())} pages compared, {len(found)} differ")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

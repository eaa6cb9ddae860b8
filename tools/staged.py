"""Copy the book to a folder that Sphinx reads: each page with the outputs of its last run.

Only what differs is written, so that Sphinx reads again only what changed. A page that stopped
says so at its top and leads to the cell that failed.
"""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
import sys
from functools import cache
from html import escape
from pathlib import Path

import figure_files
import figures_page
from nbformat import v4
from notebooks import (
    BOOK,
    ROOT,
    Notebook,
    code_cells,
    is_placeholder,
    notebooks,
    quiet_environment,
    repository,
    tags,
)
from running import Failure, failure, own_cells, result

from mathlm.show import Shown

VIEWS = ("self-attention", "multi-head", "positions", "sampling", "ablation", "patching")
LIVE = (  # of tools/live_weights.py
    *("weights.js", "check.js", "still.html"),
    *(f"still-{view}.html" for view in VIEWS),
)
SKIPPED = {"_build", "__pycache__", "lab"}
CLAIM = re.compile(r"\b(?:check|remark)\(\s*[\"']((?:OPT|VOM|AIM|MFP)-[\w.-]+)[\"']")
SHOWN = re.compile(
    r"(?P<source>(?s:.*))\n\n# (?P<places>(?:mathlm|book/lab)/\S+\.py(?: · \S+)*)\s*"
)


def write_changed(path: Path, content: bytes) -> None:
    """Write a file unless it holds this already: Sphinx goes by the time of the last change."""
    if not (path.exists() and path.read_bytes() == content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def read(path: Path) -> Notebook:
    """A notebook of which the form is known to be good."""
    return v4.reads_json(path.read_text(encoding="utf-8"))


# --- a page ---------------------------------------------------------------------------------


def box(page: str, stopped: Failure | None) -> str:
    """The notice at the top of a page that did not run to its end."""
    if stopped is None:
        what = "It left no outputs."
    else:
        what = (
            f'<a href="#failed-cell">Cell {stopped.cell}</a>, '
            f"<code>{escape(stopped.line)}</code>, ended in "
            f"<code>{escape(stopped.error)}</code>. The cells after it did not run."
        )
    return (
        '<div class="admonition error">\n'
        '<p class="admonition-title">This page did not run to its end</p>\n'
        f"<p>{what} To repeat this page: <code>make chapter N={page}</code></p>\n</div>"
    )


def show_failure(nb: Notebook, page: str, stopped: Failure | None) -> None:
    """Put the notice below the title, and an address at the cell that failed."""
    if stopped:
        figures_page.with_place(
            nb, nb.cells.index(code_cells(nb)[stopped.cell - 1]), "failed-cell"
        )
    title, _, rest = nb.cells[0].source.partition("\n")
    nb.cells[0].source = f"{title}\n\n{box(page, stopped)}\n\n{rest.lstrip()}"


def with_outputs(path: Path, device: str) -> Notebook:
    """The page as it is written now, with what its cells showed when they ran."""
    nb, ran = read(path), result(path.stem, device)
    cells = own_cells(read(ran)) if ran.exists() else []
    if cells and len(cells) != len(code_cells(nb)):
        raise SystemExit(f"{path.name} was changed while it ran: give the same command again")
    for cell in code_cells(nb):
        cell.outputs = []
    for cell, done in zip(code_cells(nb), cells, strict=bool(cells)):
        cell.outputs = done.outputs
    if not ran.with_suffix(".key").exists():
        stopped = failure(nb)
        if stopped or not cells:
            show_failure(nb, path.stem, stopped)
    return nb


# --- claims ---------------------------------------------------------------------------------


def place_claims(nb: Notebook) -> None:
    """Give each cell that checks claims their addresses, to which the pages of claims lead."""
    for cell in code_cells(nb):
        if ids := CLAIM.findall(cell.source):
            places = "".join(f'<div id="claim-{id}"></div>' for id in ids)
            before = nb.cells[(index := nb.cells.index(cell)) - 1]
            if before.cell_type == "markdown":
                before.source += f"\n\n{places}"
            else:
                first = ids[0].replace(".", "_")  # the name of a cell has no points
                nb.cells.insert(index, v4.new_markdown_cell(places, id=f"claim-{first}"))


# --- code that a cell shows -----------------------------------------------------------------


@cache
def page_of(label: str) -> str | None:
    """The page that holds an equation."""
    found = [p.stem for p in notebooks() if f"$$ ({label})" in p.read_text(encoding="utf-8")]
    return found[0] if found else None


def line_of(path: str, source: str) -> int | None:
    """Where a file defines what the source begins with."""
    name = re.search(r"^(?:async )?(?:def|class) \w+", source, re.MULTILINE)
    lines = (ROOT / path).read_text(encoding="utf-8").split("\n") if name else []
    numbered = enumerate(lines, start=1)
    return next((n for n, line in numbered if re.match(rf"\s*{name[0]}\b", line)), None)


def link(place: str, source: str) -> str | None:
    """Address of a place that ``mathlm.show`` names: of an equation, in this book.

    None while the repository has no address.
    """
    if "/" not in place:
        return (page := page_of(place)) and f"{page}.html#equation-{place}"
    if is_placeholder(repository()):
        return None
    line = None if place.startswith("tests/") else line_of(place, source)
    return f"{repository()}/blob/HEAD/{place}" + (f"#L{line}" if line else "")


def show_code(nb: Notebook) -> None:
    """Give what ``mathlm.show`` printed its colors and its links."""
    for output in (out for cell in code_cells(nb) for out in cell.outputs):
        data = output.get("data", {})
        if found := SHOWN.fullmatch(data.get("text/plain", "")):
            shown = Shown(source := found["source"], tuple(found["places"].split(" · ")))
            data["text/html"] = shown.html(lambda place, source=source: link(place, source))


def title_imports(nb: Notebook) -> None:
    """Say above a folded cell of imports what it is."""
    for cell in code_cells(nb):
        if "hide-input" in tags(cell) and holds_imports(cell.source):
            words = {"code_prompt_show": "Imports", "code_prompt_hide": "Imports"}
            cell.metadata["mystnb"] = {**cell.metadata.get("mystnb", {}), **words}


def holds_imports(source: str) -> bool:
    """Whether more than half of the statements of a cell import something."""
    try:
        body = ast.parse(source).body
    except SyntaxError:  # a magic command
        return False
    imports = sum(isinstance(node, ast.Import | ast.ImportFrom) for node in body)
    return 2 * imports > len(body)


# --- the book -------------------------------------------------------------------------------


def plain_files() -> list[Path]:
    """All that the pages need and that is no notebook."""
    inside = [path.relative_to(BOOK) for path in BOOK.rglob("*") if path.is_file()]
    hidden = [p for p in inside if any(n.startswith(".") or n in SKIPPED for n in p.parts)]
    return [p for p in inside if p not in set(hidden) and p.suffix != ".ipynb"]


def plain_pairs(staged: Path) -> dict[Path, Path]:
    """Where each file that is no notebook goes to, and where it is."""
    pairs = {staged / "book" / name: BOOK / name for name in plain_files()}
    pairs |= {staged / name: ROOT / name for name in ("_config.yml", "_toc.yml")}
    pairs.pop(staged / "book" / "figures.md")
    return pairs


def changed_texts(staged: Path) -> list[str]:
    """Names of the texts that the copy does not hold as they are now, and of the contents."""
    return [
        source.name
        for target, source in plain_pairs(staged).items()
        if source.suffix in (".md", ".yml")
        and not (target.exists() and target.read_bytes() == source.read_bytes())
    ]


def stage_files(staged: Path) -> set[Path]:
    """Copy what is no notebook; returns where it is."""
    pairs = plain_pairs(staged)
    for target, source in pairs.items():
        write_changed(target, source.read_bytes())
    return set(pairs) | stage_model(staged)


def stage_model(staged: Path) -> set[Path]:
    """Have what the live model needs written; returns where it is.

    Another process does that, because torch is no use to this one and takes seconds to load. It
    is not called while checkpoint and tools are the same.
    """
    sources = sorted((BOOK / "results" / "shakespeare-gpt").glob("*"))
    if not sources:
        return set()
    tools = sorted(Path(__file__).parent.glob("live_*.py"))
    made_from = hashlib.sha256(b"".join(p.read_bytes() for p in [*sources, *tools])).hexdigest()
    target = staged / "book" / "_static" / "live"
    note = target / "made-from.txt"
    if not (note.exists() and note.read_text("utf-8") == made_from):
        command = [sys.executable, tools[0].with_name("live_weights.py"), target]
        subprocess.run(command, env=quiet_environment(), stdout=subprocess.DEVNULL, check=True)
        note.write_text(made_from, encoding="utf-8")  # last, when the others are whole
    return {note, *(target / name for name in LIVE)}


def stage_page(path: Path, device: str, staged: Path) -> tuple[Path, str]:
    """Write one page; returns where, and its part of the page of figures."""
    nb = with_outputs(path, device)
    show_code(nb)
    title_imports(nb)
    place_claims(nb)
    part = figures_page.part(nb, path.stem, staged / "book" / "_static" / "figures")
    figure_files.place(nb)
    target = staged / "book" / path.name
    write_changed(target, (v4.writes_json(nb) + "\n").encode())
    return target, part


def stage(paths: list[Path], device: str, staged: Path) -> None:
    """Make the copy the book as it is now: nothing that it no longer holds stays behind."""
    kept = stage_files(staged)
    pages = [stage_page(path, device, staged) for path in paths]
    figures = "\n".join([(BOOK / "figures.md").read_text("utf-8"), *(p for _, p in pages if p)])
    write_changed(target := staged / "book" / "figures.md", figures.encode())
    kept |= {target, *(page for page, _ in pages)}
    kept |= figures_page.pictures(figures, staged / "book" / "_static" / "figures")
    for path in staged.rglob("*"):
        if path.is_file() and path not in kept:
            path.unlink()

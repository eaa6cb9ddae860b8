"""Run one page by papermill, and keep in its result what stopped it.

    python tools/page_run.py PAGE RESULT DEVICE    exit 1 if a cell failed

A cell that raises keeps its error. So does one whose kernel died or that took too long, where
papermill alone would keep nothing of the page.
"""

from __future__ import annotations

import sys
from typing import Any

# jsonschema would compile a grammar of web addresses with it, which takes 2 s and no page needs
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]

import papermill  # noqa: E402
from nbformat import NotebookNode  # noqa: E402
from nbformat.v4 import new_output  # noqa: E402
from notebooks import BOOK, TIME_OUT, code_cells  # noqa: E402
from papermill.engines import NBClientEngine, papermill_engines  # noqa: E402


def last_started(nb: NotebookNode) -> NotebookNode:
    """The code cell that ran last; the first one if the kernel did not start."""
    cells = code_cells(nb)
    return ([c for c in cells if c.metadata.papermill.get("start_time")] or cells[:1])[-1]


class Keeping(NBClientEngine):
    """An engine for which a dead kernel is an error of the cell in which it died."""

    @classmethod
    def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> None:
        """Run all cells; papermill looks for errors among the outputs afterwards."""
        try:
            super().execute_managed_notebook(nb_man, kernel_name, **options)
        except Exception as error:
            name, text = type(error).__name__, str(error).strip().split("\n")[0]
            stop = new_output("error", ename=name, evalue=text, traceback=[f"{name}: {text}"])
            last_started(nb_man.nb).outputs.append(stop)


def main(page: str, result: str, device: str) -> int:
    papermill_engines.register("keeping", Keeping)
    try:
        papermill.execute_notebook(
            page,
            result,
            {"device": device},
            engine_name="keeping",
            kernel_name="python3",
            cwd=str(BOOK),
            progress_bar=False,
            # written once, at the end: after each cell, as is usual, takes a tenth of the time
            request_save_on_cell_execute=False,
            autosave_cell_every=0,
            execution_timeout=TIME_OUT,
        )
    except papermill.PapermillExecutionError:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

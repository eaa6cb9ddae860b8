"""Run pages by papermill, one after the other, and keep in each result what stopped it.

    python -c "import page_run; page_run.serve()"

A line of standard input names a page, its result, the device and the file for the data
packages that it opens, as JSON; a line of standard output answers with the error, or null. A
cell that raises keeps its error. So does one whose kernel died or that took too long, where
papermill alone would keep nothing of the page.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import forked_kernels  # before papermill: it keeps a slow import away
import papermill
from nbformat import NotebookNode
from nbformat.v4 import new_output
from notebooks import BOOK, TIME_OUT, code_cells
from papermill.engines import NBClientEngine, papermill_engines


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


def run(page: str, result: str, device: str, opened: str) -> str | None:
    """Run a page; what stopped it in one line, None if it came to its end."""
    os.environ["MATHLM_OPENED"] = opened
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
    except Exception as error:
        return f"{type(error).__name__}: {error}".strip().split("\n")[-1]
    return None


def serve() -> None:
    """Run each page that standard input names, until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a page starts may write there
    papermill_engines.register("keeping", Keeping)
    forked_kernels.use()
    for line in sys.stdin:
        print(json.dumps(run(**json.loads(line))), file=answers, flush=True)

"""The commands of the laboratory: those whose results book/results keeps, and no other."""

import ast
import re

from sources import LAB, LABORATORY, ROOT, expect_nothing, text

COMMANDS = [file for file in LABORATORY if 'if __name__ == "__main__":' in text(file)]
STARTED = {"two_processes.py"}  # the parent of two processes, started by the page


def test_a_command_writes_a_record():
    """Whoever only wants a number calls the function that the page calls."""
    expect_nothing(
        f"{file.relative_to(ROOT)} has a command line and no --record: give it one, or take "
        "the command line away"
        for file in COMMANDS
        if "--record" not in text(file) and file.name not in STARTED
    )


def test_a_command_says_how_and_where_it_runs():
    for file in COMMANDS:
        module = re.escape(".".join(file.relative_to(LAB.parent).with_suffix("").parts))
        doc = ast.get_docstring(ast.parse(text(file)))
        says = re.search(rf"^ *cd book\n *python -m {module}\b", doc, re.MULTILINE)
        assert says or file.name in STARTED, file


def test_no_file_names_a_command_that_is_gone():
    modules = {".".join(f.relative_to(LAB.parent).with_suffix("").parts) for f in COMMANDS}
    pages = [*LABORATORY, *(ROOT / "book").glob("*.ipynb"), *ROOT.glob("*.md")]
    expect_nothing(
        f"{page.relative_to(ROOT)}: {name} has no command line"
        for page in pages
        for name in re.findall(r"python -m (lab\.[\w.]+)", text(page))
        if name.rstrip(".") not in modules
    )

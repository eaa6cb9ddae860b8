"""Each folder of the laboratory says in its docstring which of its files does what."""

import ast
import re

import pytest
from sources import LAB, LABORATORY, text

FOLDERS = sorted(file.parent for file in LABORATORY if file.parent.parent == LAB)


@pytest.mark.parametrize("folder", dict.fromkeys(FOLDERS), ids=lambda f: f.name)
def test_a_folder_names_its_page_and_its_files(folder):
    doc = ast.get_docstring(ast.parse(text(folder / "__init__.py")))
    page = re.search(r"(?:\d\d|guide)-[\w-]+", doc)[0]
    assert (LAB.parent / f"{page}.ipynb").is_file()
    assert page.split("-", 1)[1].replace("-", "_") == folder.name
    files = {file.stem for file in LABORATORY if file.parent == folder} - {"__init__"}
    assert set(re.findall(r"^\* ``(\w+)``: ", doc, re.MULTILINE)) == files

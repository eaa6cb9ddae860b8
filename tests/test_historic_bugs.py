"""The list of defects keeps up with the code: `make historic` puts them in, one at a time."""

from pathlib import Path

import pytest
from historic_bugs import DEFECTS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_what_a_defect_replaces_stands_once_and_its_test_is_there(defect):
    code = (ROOT / "mathlm" / defect.file).read_text(encoding="utf-8")
    assert code.count(defect.old) == 1
    assert defect.new != defect.old
    file, _, name = defect.test.partition("::")
    text = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert f"def {name.split('[')[0]}(" in text

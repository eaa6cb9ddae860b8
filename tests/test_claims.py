"""The ledger of claims: what counts as verified, as corrected, and as neither."""

import ast
import doctest
import re
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import nbclient
import numpy as np
import pytest
import torch
from hypothesis import given
from nbformat.v4 import new_code_cell, new_notebook

from mathlm import claims
from mathlm.claims import KINDS, LEDGER, Claim, check, is_strict, remark
from mathlm.errors import ClaimError, ConfigError, InputError

ROOT = Path(__file__).resolve().parents[1]
ID = "VOM-8.4-4"


@pytest.fixture(autouse=True)
def empty_ledger():
    kept = dict(LEDGER)
    LEDGER.clear()
    yield
    LEDGER.clear()
    LEDGER.update(kept)


def holds(computed, printed, **options):
    """Whether the claim is verified."""
    try:
        check(ID, computed, printed=printed, **options)
    except ClaimError:
        return False
    return True


def test_a_verified_claim_is_said_in_one_line_and_kept(capsys):
    check(ID, 0.9712, printed=0.97)
    assert capsys.readouterr().out == "VOM-8.4-4 verified: 0.97\n"
    assert {ID: Claim(ID, "verified", 0.97)} == LEDGER


def test_a_corrected_claim_is_said_in_one_line_and_kept(capsys):
    check(ID, 5.001, printed=4.0, corrected=5.0)
    assert capsys.readouterr().out == "VOM-8.4-4 corrected: printed 4.0, right 5.0\n"
    assert {ID: Claim(ID, "corrected", 4.0, 5.0)} == LEDGER


def test_a_remark_is_said_in_one_line_and_kept(capsys):
    remark(ID, corrected="It is bounded.")
    assert capsys.readouterr().out == "VOM-8.4-4 remarked: It is bounded.\n"
    assert {ID: Claim(ID, "remarked", corrected="It is bounded.")} == LEDGER


def test_the_example_of_the_docstring_is_true():
    finder = doctest.DocTestFinder().find(check, globs=vars(claims))
    assert sum(doctest.DocTestRunner().run(test).attempted for test in finder) == 1


@pytest.mark.parametrize(
    ("computed", "printed", "is_right"),
    [
        (0.9749, 0.97, True),
        (0.975, 0.97, True),  # a half may have been rounded down
        (0.9751, 0.97, False),
        (0.965, 0.97, True),
        (0.9649, 0.97, False),
        (-0.9749, -0.97, True),
        (2.96, 3.0, True),
        (2.94, 3.0, False),
        (3.2e-5, 3e-5, True),
        (3.6e-5, 3e-5, False),
        (6.04e23, 6.0e23, True),
        (6.6e23, 6.0e23, False),
        (0.05, 0.0, True),
        (0.051, 0.0, False),
        (float("inf"), float("inf"), True),
        (1.0, float("inf"), False),
        (float("nan"), 0.97, False),
        (float("nan"), float("nan"), False),
        (1e300, 0.97, False),
    ],
)
def test_a_float_is_right_within_half_a_unit_of_its_last_digit(computed, printed, is_right):
    assert holds(computed, printed) is is_right


@given(st.integers(-(10**6), 10**6), st.integers(1, 6), st.floats(-0.499, 0.499))
def test_every_number_that_rounds_to_what_is_printed_is_right(digits, places, rest):
    if digits % 10 == 0:
        return  # a zero at the end is not in the literal
    assert holds((digits + rest) / 10**places, float(f"{digits}e-{places}"))


@given(st.integers(-(10**6), 10**6), st.integers(1, 6), st.floats(0.501, 100))
def test_no_number_that_rounds_to_another_is_right(digits, places, rest):
    if digits % 10 == 0:
        return
    assert not holds((digits + rest) / 10**places, float(f"{digits}e-{places}"))


@pytest.mark.parametrize(
    ("computed", "printed", "is_right"),
    [
        (3, 3, True),
        (3.0000000001, 3, True),
        (3.001, 3, False),
        (175_181_291_521, 175_181_291_520, False),  # one parameter of 175 billion counts
        (10**30 + 1, 10**30, False),
        (10**400, 10**400, True),
        (np.int64(7), 7, True),
    ],
)
def test_an_integer_is_met_exactly_or_up_to_rounding(computed, printed, is_right):
    assert holds(computed, printed) is is_right


@pytest.mark.parametrize(
    ("difference", "tol", "is_right"),
    [
        (0.1, 0.1, True),
        (0.1001, 0.1, False),
        (-0.1, 0.1, True),
        (0.0, 0.0, True),
        (1e-9, 0.0, False),
        (1, 0.5, False),
    ],
)
def test_tol_is_the_largest_absolute_difference(difference, tol, is_right):
    assert holds(2 + difference, 2, tol=tol) is is_right


def test_tol_is_absolute_for_large_numbers_too():
    assert not holds(1e9 + 0.5, 1e9, tol=0.1)
    assert not holds(10**12 + 1, 10**12, tol=0.0)


@pytest.mark.parametrize("tol", [-1e-9, float("inf"), float("nan")])
def test_a_tolerance_that_proves_nothing_is_refused(tol):
    with pytest.raises(InputError, match=f"VOM-8.4-4: tol={tol} must be a finite number"):
        check(ID, 1.0, printed=1.0, tol=tol)
    assert LEDGER == {}


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_sequences_are_compared_entry_by_entry(kind):
    right, wrong = [[0.11, 0.52], [0.93, 0.04]], [[0.11, 0.52], [0.93, 0.16]]
    assert holds(kind(right), [[0.1, 0.5], [0.9, 0.0]])
    assert not holds(kind(wrong), [[0.1, 0.5], [0.9, 0.0]])


@pytest.mark.parametrize(
    ("computed", "printed"),
    [
        ([1.0, 2.0], [1.0]),
        ([1.0], [1.0, 2.0]),
        ([], [1.0]),
        ([1.0, 1.0], 1.0),
        (1.0, [1.0]),
        ([[1.0, 2.0]], [1.0, 2.0]),
        (np.ones(3), 1.0),
    ],
)
def test_another_length_or_nesting_is_wrong(computed, printed):
    assert not holds(computed, printed)


@pytest.mark.parametrize("empty", [[], (), np.array([])])
def test_nothing_is_not_a_claim(empty):
    with pytest.raises(InputError, match="nothing to compare"):
        check(ID, empty, printed=empty)
    with pytest.raises(InputError, match="nothing to compare"):
        check(ID, 1.0, printed=empty, corrected=1.0)
    with pytest.raises(InputError, match="nothing to compare"):
        check(ID, empty, printed=1.0, corrected=empty)


@pytest.mark.parametrize(
    "scalar",
    [
        np.float32(0.97),
        np.float64(0.9712),
        np.array(0.97),
        torch.tensor(0.97, requires_grad=True),
        torch.tensor(0.97, dtype=torch.bfloat16),
    ],
)
def test_scalars_of_numpy_and_torch_are_numbers(scalar):
    assert holds(scalar, 0.97)
    assert not holds(scalar, 0.98)


@pytest.mark.parametrize(
    ("computed", "printed", "is_right"),
    [
        (True, True, True),
        (False, True, False),
        (np.bool_(True), True, True),
        (1, True, False),
        (True, 1, False),
        ("king", "king", True),
        ("king", "queen", False),
        (10, "10", False),
        ("10", 10, False),
        (None, None, True),
        (None, 0.0, False),
        (0.0, None, False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, 1.0, False),
        (["a", True], ["a", True], True),
        (["a", 1], ["a", True], False),
    ],
)
def test_what_is_no_number_must_be_equal_and_of_one_kind(computed, printed, is_right):
    assert holds(computed, printed) is is_right


@pytest.mark.parametrize(
    ("computed", "is_right"),
    [(0.866 + 0.5j, True), (0.86 + 0.5j, False), (0.866 + 0.6j, False)],
)
def test_complex_numbers_are_compared_by_their_parts(computed, is_right):
    assert holds(computed, 0.87 + 0.5j) is is_right
    assert holds(np.array([computed]), [0.87 + 0.5j]) is is_right


def test_complex_numbers_have_a_distance():
    assert holds(3 + 4j, 0.0, tol=5.0)
    assert not holds(3 + 4j, 0.0, tol=4.9)


def test_a_wrong_claim_is_an_error_with_the_numbers_and_is_not_kept(capsys):
    with pytest.raises(ClaimError, match=r"VOM-8\.4-4: computed 5\.0, which is not 4\.0"):
        check(ID, 5.0, printed=4.0)
    assert LEDGER == {}
    assert capsys.readouterr().out == ""


def test_a_correction_that_is_wrong_too_is_an_error():
    with pytest.raises(ClaimError, match=r"computed 5\.0, which is not 6\.0"):
        check(ID, 5.0, printed=4.0, corrected=6.0)


def test_what_a_rule_implies_is_not_said_to_be_printed(capsys):
    check(ID, 2048, implied=16_384, corrected=2048)
    assert capsys.readouterr().out == "VOM-8.4-4 corrected: implied 16384, right 2048\n"
    assert LEDGER[ID].printed is None
    assert LEDGER[ID].implied == 16_384


def test_what_is_implied_must_be_wrong():
    with pytest.raises(ClaimError, match="implied 5 is right"):
        check(ID, 5, implied=5, corrected=5)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "either printed= or implied="),
        ({"printed": 1, "implied": 2, "corrected": 3}, "either printed= or implied="),
        ({"implied": 2}, "implied= needs corrected="),
    ],
)
def test_exactly_one_value_of_the_source_is_given(options, sentence):
    with pytest.raises(InputError, match=sentence):
        check(ID, 3, **options)


@pytest.mark.parametrize(("printed", "tol"), [(5.0, None), (0.9712, 0.1), ([5.0], None)])
def test_a_correction_of_what_is_right_is_an_error(printed, tol):
    right = printed
    with pytest.raises(ClaimError, match=r"is right.*drop corrected="):
        check(ID, right, printed=printed, corrected=right, tol=tol)


def test_a_printed_number_is_not_corrected_by_more_digits_of_it():
    with pytest.raises(ClaimError, match=r"printed 0\.97 is right"):
        check(ID, 0.9712, printed=0.97, corrected=0.9712)


def test_one_wrong_entry_makes_a_list_wrong():
    check(ID, [0.1, 0.6], printed=[0.1, 0.5], corrected=[0.1, 0.6])
    assert LEDGER[ID].verdict == "corrected"


def test_a_count_may_be_corrected_by_none_or_by_words():
    check(ID, None, printed=1, corrected=None)
    check(ID, "no", printed=1, corrected="no")
    assert LEDGER[ID].corrected == "no"


@pytest.mark.parametrize(
    "id", ["OPT-2-1", "VOM-8.4-4", "MFP-quote", "AIM-9.1-b", "VOM-13.7.1-2"]
)
def test_names_of_claims(id):
    check(id, 1, printed=1)
    assert list(LEDGER) == [id]


@pytest.mark.parametrize(
    "id",
    [
        "",
        "OPT",
        "OPT-",
        "opt-2-1",
        "XYZ-2-1",
        "OPT 2-1",
        "OPT-2-1\n",
        " OPT-2-1",
        "OPT-2-",
        "OPT-2..3-1",
    ],
)
def test_a_malformed_name_is_refused(id):
    with pytest.raises(InputError, match=re.escape(f"claim id {id!r} is not of the form")):
        check(id, 1, printed=1)
    with pytest.raises(InputError, match="is not of the form"):
        remark(id, corrected="Something.")
    assert LEDGER == {}


@pytest.mark.parametrize("words", ["", "  \n"])
def test_a_remark_needs_words(words):
    with pytest.raises(InputError, match="needs a sentence"):
        remark(ID, corrected=words)


def test_checking_again_replaces_the_record():
    check(ID, 1, printed=1)
    check(ID, 2, printed=2)
    assert LEDGER[ID].printed == 2


def test_what_is_told_of_a_claim_is_kept_and_changes_no_line(capsys):
    told = {"claim": "It is 4.", "kind": "wrong", "severity": 3}
    check(ID, 5.0, printed=4.0, corrected=5.0, why="Because.", **told)
    assert capsys.readouterr().out == "VOM-8.4-4 corrected: printed 4.0, right 5.0\n"
    assert LEDGER[ID] == Claim(ID, "corrected", 4.0, 5.0, **told)
    remark(ID, corrected="It is bounded.", why="Because.", **told)
    assert capsys.readouterr().out == "VOM-8.4-4 remarked: It is bounded.\n"
    assert LEDGER[ID] == Claim(ID, "remarked", corrected="It is bounded.", **told)


@pytest.mark.parametrize("severity", [0, 6, "high", 2.5])
def test_a_kind_or_a_severity_that_is_none_is_refused(severity, unchecked):
    with pytest.raises(InputError, match=f"kind='bad' must be one of {', '.join(KINDS)}"):
        check(ID, 1, printed=1, kind="bad")
    with pytest.raises(
        InputError, match=re.escape(f"severity={severity!r} must be 1, 2, 3, 4")
    ):
        remark(ID, corrected="No.", severity=severity)


# --- in the notebook of a reader ------------------------------------------------------------


@pytest.mark.parametrize(("choice", "strict"), [("1", True), ("0", False), ("", True)])
def test_what_fails_raises_unless_a_reader_runs_it(monkeypatch, choice, strict):
    monkeypatch.setenv("MATHLM_STRICT", choice)
    assert is_strict() is strict


def test_in_a_notebook_it_raises_only_if_asked_to(monkeypatch):
    monkeypatch.delenv("MATHLM_STRICT", raising=False)
    monkeypatch.setattr(claims, "_notebook", lambda: SimpleNamespace())
    assert not is_strict()
    monkeypatch.setenv("MATHLM_STRICT", "1")
    assert is_strict()


def test_another_choice_is_refused(monkeypatch):
    monkeypatch.setenv("MATHLM_STRICT", "yes")
    with pytest.raises(ConfigError, match="MATHLM_STRICT='yes' must be 0, 1 or unset"):
        is_strict()


@pytest.mark.parametrize(
    ("computed", "options", "said"),
    [
        (0.0521, {"printed": 0.041}, "the book has 0.041 here; you have 0.0521, after your"),
        (
            4.0,
            {"printed": 4.0, "corrected": 5.0},
            "the book has 5 here; you have 4, after your",
        ),
        (
            np.ones(2),
            {"printed": [1.0, 2.0]},
            "has [1.0, 2.0] here; you have [1.0, 1.0], after",
        ),
        (
            5.4,
            {"printed": 5.0, "corrected": 5.5, "tol": 0.5},
            "has 5.5 here; you have 5.4, after",
        ),
    ],
)
def test_a_claim_of_a_reader_that_fails_is_one_sentence(
    monkeypatch, capsys, computed, options, said
):
    monkeypatch.setenv("MATHLM_STRICT", "0")
    check(ID, computed, **options)
    out = capsys.readouterr().out
    assert out.startswith(f"{ID}: the book has ")
    assert said in out
    assert out.count("\n") == 1
    assert LEDGER == {}


def run_forgiven(source):
    """What a cell leaves behind that IPython would run with the transformer."""
    tree = claims._Forgiving().visit(ast.parse(source))
    names = {"np": np}
    exec(compile(ast.fix_missing_locations(tree), "cell", "exec"), names)
    return names


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "assert x == 0.041",
            "the book has x == 0.041 here; you have 0.052, after your change",
        ),
        ("assert 0 < x < 0.05", "the book has 0 < x < 0.05 here; you have 0.052, after"),
        ("assert x > y", "the book has x > y here; you have x = 0.052, y = 1, after"),
        ("assert x < 1 and not y < 2", "you have x = 0.052, y = 1, after"),
        (
            "assert all(v < 0 for v in [x])",
            "has all((v < 0 for v in [x])) here; that is not so, ",
        ),
        ("assert x < 0, 'negative'", "you have 0.052 (negative), after"),
        ("np.testing.assert_allclose(x, 0.04)", "that is not so (Max absolute difference"),
        ("for i in range(3): assert i != 1", "the book has i != 1 here; you have 1, after"),
        ("if x:\n    assert x < 0", "the book has x < 0 here; you have 0.052, after"),
    ],
)
def test_an_assertion_of_a_reader_that_fails_is_one_sentence(capsys, line, said):
    names = run_forgiven(f"x, y = 0.052, 1\n{line}\nafter = 2")
    out = capsys.readouterr().out
    assert said in out
    assert out.count("\n") == 1
    assert names["after"] == 2
    assert "__failed__" not in names


def test_an_assertion_that_holds_says_nothing(capsys):
    run_forgiven("x = 3\nassert x == 3\nassert (y := x) > 2\nnp.testing.assert_allclose(y, 3)")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "source", ["def f():\n    assert 0\nf()", "assert [][0]", "class A:\n    assert 0"]
)
def test_what_a_function_asserts_and_another_error_still_raise(source):
    with pytest.raises((AssertionError, IndexError)):
        run_forgiven(source)


def ran(monkeypatch, strict, *cells):
    """Text of the outputs of a small notebook."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    monkeypatch.setenv("MATHLM_STRICT", strict)
    nb = new_notebook(cells=[new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(nb, kernel_name="python3", timeout=60).execute()
    return [[out.get("text") or out.data["text/plain"] for out in c.outputs] for c in nb.cells]


CELLS = (
    "from mathlm.claims import check\nx = 0.052",
    "check('VOM-8.4-4', x, printed=0.041)\nassert x < 0.05\n'after'",
)


@pytest.mark.slow
def test_the_notebook_of_a_reader_goes_on_and_shows_its_result(monkeypatch):
    _, said = ran(monkeypatch, "", *CELLS)
    after = "after your change or on your machine\n"
    assert said[0] == (
        f"VOM-8.4-4: the book has 0.041 here; you have 0.052, {after}"
        f"the book has x < 0.05 here; you have 0.052, {after}"
    )
    assert said[1] == "'after'"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "error"), [(CELLS[1], "ClaimError"), ("assert x < 0.05", "AssertionError")]
)
def test_the_build_of_the_book_stops(monkeypatch, cell, error):
    with pytest.raises(nbclient.exceptions.CellExecutionError, match=error):
        ran(monkeypatch, "1", CELLS[0], cell)

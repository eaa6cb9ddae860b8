"""The ledger of claims: what counts as verified, as corrected, and as neither."""

import doctest
import re

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given

from mathlm import claims
from mathlm.claims import LEDGER, Claim, check, remark
from mathlm.errors import ClaimError, InputError

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

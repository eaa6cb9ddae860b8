import pytest

from lab.transformer_backward.gradient_checks import CHECKS, make_case, same, witness
from lab.transformer_backward.planted_gradient_faults import FAULTS, noticed, planted
from mathlm.reference import Transformer

WITNESSES = {"gradients = autograd's", "central differences"}


def names(fault):
    return {check for check, fails in zip(CHECKS, noticed(fault), strict=True) if fails}


@pytest.mark.parametrize("check", CHECKS)
def test_the_package_passes_every_check(check):
    assert CHECKS[check]() is True


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_noticed_and_gone_afterwards(fault):
    before = getattr(FAULTS[fault].where, FAULTS[fault].name)
    assert "gradients = autograd's" in names(FAULTS[fault])
    assert getattr(FAULTS[fault].where, FAULTS[fault].name) is before


@pytest.mark.usefixtures("unchecked")
def test_differences_cannot_see_a_fault_of_both_passes():
    """They compare the loss with its own gradient: another loss has another right gradient."""
    unseen = {fault for fault in FAULTS if "central differences" not in names(FAULTS[fault])}
    assert unseen == {
        "labels not shifted",
        "√D in neither pass",
        "positions from 1",
        "future not hidden",
        "padding not hidden",
    }


@pytest.mark.usefixtures("unchecked")
def test_every_check_notices_a_fault():
    found = set()
    for fault in ("padding has labels", "future not hidden", "padding not hidden"):
        found |= names(FAULTS[fault])
    assert found == set(CHECKS)


def test_a_fault_is_taken_out_again_after_an_error():
    fault = FAULTS["sign turned"]
    before, wrong = getattr(fault.where, fault.name), planted(fault)
    with pytest.raises(ZeroDivisionError), wrong:
        1 / (getattr(fault.where, fault.name) is before)
    assert getattr(fault.where, fault.name) is before


def test_the_case_has_padding_dropout_smoothing_and_one_table():
    case = make_case()
    assert isinstance(case.model, Transformer)
    assert not all(mask.all() for mask in case.sentences[2:])
    assert case.options["label_smoothing"] > 0
    assert any((f == 0).any() for f in case.options["dropout"].values())
    assert "head.weight" not in witness()[1]


def test_a_gradient_off_by_one_part_in_a_billion_is_not_the_same():
    theirs = witness()[1]
    name = "decoder.0.cross_attention.W_v.weight"
    assert same(theirs, theirs)
    assert not same(theirs | {name: theirs[name] * (1 + 1e-9)}, theirs)

"""Labels without sense, and intervals over whole groups."""

import numpy as np
import pytest
import torch

from mathlm import interpret
from mathlm.errors import InputError, InputTypeError


def test_a_word_has_one_control_label_wherever_it_stands():
    words = ["a", "b", "a", "c", "b"] * 20
    control = interpret.control_labels(words, ["x", "y"] * 50, seed=3)
    assert len(set(zip(words, control, strict=True))) == 3


def test_control_labels_occur_as_often_as_those_of_the_task():
    """A share of 1/4 among 4000 different words: standard error √(3/16/4000) = 0.007."""
    control = interpret.control_labels(range(4000), ["x", "y", "y", "y"] * 1000)
    assert control.count("x") / 4000 == pytest.approx(0.25, abs=4 * 0.007)


def test_control_labels_know_nothing_of_the_labels():
    labels = ["x", "y"] * 2000
    control = interpret.control_labels(range(4000), labels)
    assert np.mean([a == b for a, b in zip(labels, control, strict=True)]) == pytest.approx(
        0.5, abs=0.04
    )


def test_another_seed_gives_other_labels():
    one, two = (interpret.control_labels(range(50), range(50), seed) for seed in (0, 1))
    assert one != two


def test_groups_of_one_value_give_the_normal_interval(rng):
    """Mean of 400 independent values: ± 1.96 s/√400."""
    values = torch.from_numpy(rng.normal(size=400))
    low, high = interpret.grouped_interval(values, range(400), draws=4000)
    half = 1.96 * float(values.std()) / 20
    assert (high - low) / 2 == pytest.approx(half, rel=0.06)
    assert (high + low) / 2 == pytest.approx(float(values.mean()), abs=0.06 * half)


def test_copies_within_a_group_do_not_narrow_the_interval(rng):
    values = torch.from_numpy(rng.normal(size=50))
    once = interpret.grouped_interval(values, range(50))
    copied = interpret.grouped_interval(values.repeat(9), [*range(50)] * 9)
    np.testing.assert_allclose(once, copied)


def test_two_groups_by_hand():
    """Drawn twice with replacement: (1, 1), (1, 2) or (2, 2), with means 0, 3/4 and 1."""
    values = torch.tensor([0.0, 1.0, 1.0, 1.0])
    ends = interpret.grouped_interval(values, [1, 2, 2, 2], draws=999, level=0.9)
    assert ends == (0.0, 1.0)
    middle = interpret.grouped_interval(values, [1, 2, 2, 2], draws=999, level=0.2)
    assert middle == (0.75, 0.75)


BAD = {
    "lengths": ({"groups": [0, 1]}, r"values \(3,\) and 2 groups"),
    "one group": ({"groups": [0, 0, 0]}, "1 different: expected"),
    "draws": ({"draws": 0}, "draws=0 must be positive"),
    "level": ({"level": 1.0}, r"level=1\.0 in \(0, 1\)"),
    "nan": ({"values": torch.tensor([0, float("nan"), 1])}, "all values finite"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        interpret.grouped_interval(**{"values": torch.ones(3), "groups": [0, 1, 2]} | change)


@pytest.mark.parametrize("words", [[], ["a"]], ids=["none", "one"])
def test_labels_that_do_not_fit_the_words_are_refused(words):
    with pytest.raises(InputError, match="expected one for each"):
        interpret.control_labels(words, ["x", "y"] if words else [])


@pytest.mark.usefixtures("unchecked")
def test_tensors_of_groups_and_words_are_refused():
    """Equal entries of a tensor are different objects: every value would be its own group."""
    two = torch.tensor([0, 0, 1])
    with pytest.raises(
        InputTypeError, match=r"groups is a Tensor; give a list, .*groups.tolist"
    ):
        interpret.grouped_interval(torch.ones(3), two)
    with pytest.raises(InputTypeError, match="words is a Tensor"):
        interpret.control_labels(two, ["a", "b", "c"])
    with pytest.raises(InputTypeError, match="labels is a str"):
        interpret.control_labels(["a", "b", "c"], "xyz")
    with pytest.raises(InputTypeError, match="values are a list"):
        interpret.grouped_interval([1.0, 2.0, 3.0], [0, 0, 1])


def test_few_words_draw_from_the_labels_of_all_places():
    """Three words, and of 1000 labels all but the first three are y: 150 draws, 0.45 x."""
    words, labels = [i % 3 for i in range(1000)], ["x"] * 3 + ["y"] * 997
    drawn = [interpret.control_labels(words, labels, seed)[:3] for seed in range(50)]
    assert sum(row.count("x") for row in drawn) < 6

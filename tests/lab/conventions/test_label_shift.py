import pytest
import torch

from lab.conventions.label_shift import ShiftConfig, shift_labels, train
from mathlm.errors import ConfigError

BATCH = {"ids": torch.tensor([[10, 11, 12]]), "targets": torch.tensor([[11, 12, 13]])}
TEXT = b"abcdefgh" * 200


@pytest.mark.parametrize(
    ("shift", "labels"),
    [
        (0, [10, 11, 12]),
        (1, [11, 12, 13]),
        (2, [12, 13, -100]),
        (-1, [-100, 10, 11]),
    ],
)
def test_labels_stand_shift_places_after_their_input(shift, labels):
    """The text is 10 11 12 13; what lies outside of it is not scored."""
    assert shift_labels(BATCH, shift)["targets"].tolist() == [labels]


def test_the_inputs_stay():
    assert shift_labels(BATCH, 2)["ids"] is BATCH["ids"]


def small(shift):
    return ShiftConfig(shift=shift, steps=120, context=16, d_model=32)


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")  # half the time; the command below checks annotations
def test_on_a_periodic_text_each_shift_learns_its_own_label():
    """In a text of period 8 every byte decides all later ones: any shift can be learned."""
    torch.set_default_dtype(torch.float32)
    for shift in (0, 1, 2):
        run = train(TEXT, TEXT[:200], small(shift))
        assert run.losses[-1] < run.losses[0] / 4
        assert run.own_bits < 1.5
        assert (run.next_bits < 1.5) == (shift == 1)


def test_a_shift_outside_the_window_is_refused():
    with pytest.raises(ConfigError, match="shift=32 must be smaller than context=32"):
        ShiftConfig(shift=32)

import pytest
import torch

from lab.objectives import exposure_study
from lab.objectives.exposure import forced_slips, free_slips, predicted_slips, recoveries
from lab.objectives.repeated_words import CopyConfig, mixed, texts, train
from mathlm.errors import ConfigError
from mathlm.reference import lost_share

TINY = CopyConfig(letters=4, period=2, repeats=4, width=16, steps=40, batch=8, lr=2e-2)


@pytest.fixture(scope="module")
def writer():
    torch.set_default_dtype(torch.float32)
    return train(TINY)


@pytest.fixture(autouse=True)
def narrow():
    torch.set_default_dtype(torch.float32)


class Knows(torch.nn.Module):
    """Says the letter one period back, for certain."""

    config = type("Config", (), {"vocab_size": 4, "context": 8})()

    def forward(self, ids):
        said = torch.roll(ids, 1, 1)  # of period 2: behind x_t comes x_{t-1}
        return 50.0 * torch.nn.functional.one_hot(said, 4).float()


def test_a_text_says_its_word_again_and_again():
    x = texts(TINY, 5, torch.Generator().manual_seed(0))
    assert x.shape == (5, 8)
    assert (x[:, 2:] == x[:, :-2]).all()


def test_a_model_learns_to_repeat(writer):
    model, losses = writer
    assert losses[-1] < 0.8 * losses[0]
    assert forced_slips(model, TINY, 50).shape == (2,)


def test_who_copies_for_certain_never_slips_and_never_comes_back():
    assert forced_slips(Knows(), TINY, 20).max() < 1e-6
    assert recoveries(Knows(), TINY, 20).max() < 1e-6


def test_without_a_share_the_true_letters_are_read_and_with_one_the_model_s_own(writer):
    x = texts(TINY, 200, torch.Generator().manual_seed(1))
    assert mixed(writer[0], x, 0, torch.Generator()) is x
    changed = mixed(Knows(), x.flip(1) % 3, 1.0, torch.Generator().manual_seed(0))
    assert (changed[:, 0] == (x.flip(1) % 3)[:, 0]).all()  # nothing was said about the first
    assert (changed[:, 2:] == (x.flip(1) % 3)[:, :-2]).all()  # what Knows says of each place


def test_constant_slips_and_returns_give_the_closed_form():
    predicted = predicted_slips(torch.full((6,), 0.1), torch.full((5,), 0.3))
    expected = lost_share(list(range(1, 7)), 0.1, 0.3)
    assert predicted == pytest.approx(expected.tolist(), abs=1e-6)


def test_a_model_that_writes_is_counted_behind_the_word_said_twice(writer):
    slips = free_slips(writer[0], TINY, 50)
    assert slips.shape == (2,)
    assert (slips >= 0).all()


def test_what_makes_no_text_is_refused():
    with pytest.raises(ConfigError, match=r"share=1\.5 is outside"):
        CopyConfig(share=1.5)
    with pytest.raises(ConfigError, match="repeats 3 and period 1"):
        CopyConfig(repeats=2)


def test_the_study_is_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(exposure_study, "SHARES", (0.5,))
    rows = exposure_study.main(
        ["--steps", "2", "--seeds", "1", "--record", f"{tmp_path}/r.json"]
    )
    assert [row["config"].forgets for row in rows] == [True, False]
    assert (tmp_path / "r.json").exists()

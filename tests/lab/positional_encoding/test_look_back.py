import pytest
import torch

from lab.positional_encoding.look_back import MARK, LookBackConfig, accuracy, sequences, train
from mathlm.errors import ConfigError


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_the_answer_is_the_symbol_some_places_back():
    ids, answers = sequences(6, 2, 50, (0, 0))
    assert (ids[:, 0] == MARK).all()
    assert (answers[:, :3] == -100).all()
    assert torch.equal(answers[:, 3:], ids[:, 1:5])
    assert set(answers[:, 3:].flatten().tolist()) == set(range(8))


def test_sequences_are_a_function_of_their_key():
    assert torch.equal(sequences(6, 2, 5, (3, 1))[0], sequences(6, 2, 5, (3, 1))[0])
    assert not torch.equal(sequences(6, 2, 5, (3, 1))[0], sequences(6, 2, 5, (3, 2))[0])


def test_rope_finds_the_place_and_a_block_without_positions_does_not():
    """Without positions every earlier symbol is as likely to be the answer."""
    rope, none = (train(LookBackConfig(scheme=s, steps=100)) for s in ("rope", "none"))
    assert accuracy(rope, 16, 3).mean() > 0.98
    assert accuracy(none, 16, 3).mean() < 0.45
    assert accuracy(rope, 32, 3).shape == (29,)
    assert accuracy(rope, 32, 3).mean() > accuracy(none, 32, 3).mean() + 0.3


@pytest.mark.weekly
@pytest.mark.parametrize("seed", [1, 2])
def test_the_comparison_of_the_page_holds_with_other_seeds(seed):
    """ALiBi fails at every length; the others learn the distance and lose it further out."""
    for scheme in ("sinusoidal", "rope", "alibi", "relative"):
        model = train(LookBackConfig(scheme=scheme, seed=seed))
        near, far = (accuracy(model, length, 3).mean() for length in (16, 128))
        if scheme == "alibi":
            assert max(near, far) < 0.5
        else:
            assert near > 0.9
            assert far < near - 0.3


def test_learned_positions_end_where_training_did():
    model = train(LookBackConfig(scheme="learned", steps=2))
    assert accuracy(model, 16, 3).shape == (13,)
    with pytest.raises(ConfigError, match="learned positions end with the context 17"):
        accuracy(model, 32, 3)


def test_a_length_without_answers_is_refused():
    with pytest.raises(ConfigError, match="0 <= back < length, got 3 and 2"):
        sequences(2, 3, 1, (0,))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"back": 16}, "need 0 <= back < length, got 16 and 16"),
        ({"back": -1}, "got -1 and 16"),
        ({"steps": 1}, "steps at least 2"),
        ({"layers": 0}, "layers, width and batch must be at least 1"),
    ],
)
def test_runs_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        LookBackConfig(**options)

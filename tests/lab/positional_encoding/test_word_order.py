import pytest
import torch

from lab.positional_encoding.word_order import A, B, Classifier, sequences, study
from mathlm.errors import ConfigError


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_pairs_hold_the_same_symbols_and_opposite_answers():
    ids, answers = sequences("order", 50, 9, seed=0)
    assert ids[:50].sort(1)[0].equal(ids[50:].sort(1)[0])
    assert answers[:50].equal(~answers[50:])


def test_answers_are_what_the_questions_ask():
    for question in ("order", "count"):
        ids, answers = sequences(question, 20, 9, seed=1)
        for row, answer in zip(ids.tolist(), answers.tolist(), strict=True):
            order = row.index(A) < row.index(B)
            assert answer == (order if question == "order" else row.count(A) > row.count(B))


@pytest.mark.parametrize("length", [9, 10])
def test_without_positions_both_directions_see_a_bag(length):
    torch.manual_seed(0)
    model, (ids, _) = Classifier(False, False).double(), sequences("order", 20, length, seed=2)
    one, other = model(ids).chunk(2)
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("causal", "positions"), [(True, False), (False, True)])
def test_causal_order_or_positions_tell_the_sequences_apart(causal, positions):
    torch.manual_seed(0)
    model, (ids, _) = Classifier(causal, positions), sequences("order", 20, 9, seed=2)
    one, other = model(ids).chunk(2)
    assert (one - other).abs().min() > 1e-6


def test_a_bag_of_symbols_answers_half_of_the_order_questions():
    assert study("order", steps=5) == 0.5


@pytest.mark.parametrize("options", [{"causal": True}, {"positions": True}])
def test_order_is_learned_where_it_can_be_seen(options):
    assert study("order", **options) > 0.9


def test_unknown_questions_and_short_sequences_are_refused():
    with pytest.raises(ConfigError, match="question='sum' must be one of"):
        sequences("sum", 3, 9, seed=0)
    with pytest.raises(ConfigError, match="length=4 5 or more"):
        sequences("order", 3, 4, seed=0)
    with pytest.raises(ConfigError, match="steps=0 and batch=64"):
        study(steps=0)


def test_counting_needs_no_order():
    assert study("count", causal=True) == 1

import numpy as np
import pytest

from lab.probability import letter_models
from mathlm.text import letters


def test_two_orders_by_hand():
    """After "aab": q₁(a) = (2 + 4/27) / 7, q₂(a | a) = (1 + 4 q₁(a)) / (2 + 4)."""
    a = letters("a")[0]
    q = letter_models.letter_model(letters("aab"), 2, 4.0)
    q1 = (2 + 4 / 27) / 7
    assert q[a, a] == pytest.approx((1 + 4 * q1) / 6)
    assert q[0, a] == pytest.approx(q1)  # nothing follows a space: the shorter history


def test_every_history_has_a_distribution():
    q = letter_models.letter_model(letters("to be or not to be"), 3)
    assert (q > 0).all()
    np.testing.assert_allclose(q.sum(-1), 1)


def test_log_probabilities_start_after_the_first_history():
    text = letters("to be or not")
    q = letter_models.letter_model(text, 3)
    found = letter_models.log_probabilities(q, text)
    assert len(found) == len(text) - 2
    assert found[4] == pytest.approx(np.log(q[text[4], text[5], text[6]]))


def test_a_passage_scores_the_sum_of_its_letters():
    texts = {"x": letters("to be or not to be"), "y": letters("abababab")}
    models = [letter_models.letter_model(text, 2) for text in texts.values()]
    scores, plays = letter_models.passage_scores(models, texts, length=5)
    assert plays.tolist() == [0, 0, 0, 1]
    for column, model in enumerate(models):
        nats = letter_models.log_probabilities(model, texts["x"])
        np.testing.assert_allclose(scores[:3, column], nats[:15].reshape(3, 5).sum(1))
    assert scores[3].argmax() == 1


def test_the_parts_of_a_play_are_the_play():
    play = letter_models.tragedies()["Macbeth"]
    first, last = letter_models.first_and_last(play)
    assert len(last) / len(play) == pytest.approx(0.2, abs=1e-4)
    np.testing.assert_array_equal(np.concatenate([first, last]), play)

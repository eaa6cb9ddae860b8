"""Choices by a model whose likelihoods are known, and by one that is read token by token."""

import math

import numpy as np
import pytest
import torch

from mathlm.errors import InputError
from mathlm.evaluation import (
    ChoiceScores,
    right_answers,
    score_choices,
    score_letters,
    written_choice,
)
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes
from mathlm.text.corpora.questions import Question

FOUR = Question("Which is a bird?", ("a cat", "an owl", "a cod", "a very long tale"), 1)
TWO = Question("Is it so?", ("yes", "no"), 0)


@pytest.fixture
def model():
    torch.manual_seed(0)
    shape = {"context": 128, "d_model": 16, "n_layers": 1, "n_heads": 2}
    return GPT(GPTConfig(vocab_size=256, **shape)).eval()


def by_hand(model, prompt, answer):
    """Sum of log-probabilities, each token from a pass of its own."""
    ids = list(prompt.encode())
    total = 0.0
    for byte in answer.encode():
        total += model(torch.tensor([ids]))[0, -1].double().log_softmax(-1)[byte].item()
        ids.append(byte)
    return total


@pytest.mark.parametrize("batch", [1, 2])
@torch.no_grad()
def test_scores_are_sums_over_the_tokens_of_each_answer(model, batch):
    found = score_choices(model, Bytes(), [FOUR, TWO], batch=batch)
    for question, scores in zip([FOUR, TWO], found, strict=True):
        prompt = f"Question: {question.text}\nAnswer:"
        expected = [by_hand(model, prompt, f" {c}") for c in question.choices]
        np.testing.assert_allclose(scores.logp, expected, rtol=1e-5)
        assert scores.bytes.tolist() == [len(c) + 1 for c in question.choices]
        assert scores.tokens.tolist() == scores.bytes.tolist()


@torch.no_grad()
def test_letters_stand_behind_the_choices(model):
    (scores,) = score_letters(model, Bytes(), [FOUR])
    prompt = "Which is a bird?\nA. a cat\nB. an owl\nC. a cod\nD. a very long tale\nAnswer:"
    assert FOUR.lettered == prompt
    expected = [by_hand(model, prompt, f" {letter}") for letter in "ABCD"]
    np.testing.assert_allclose(scores.logp, expected, rtol=1e-5)


def test_the_three_weights_choose_three_answers(unchecked):
    """By token -4, -2 and -3.3; by byte -1.33, -1.5 and -0.55."""
    scores = ChoiceScores(
        np.array([-4.0, -6.0, -6.6]), np.array([1, 3, 2]), np.array([3, 4, 12])
    )
    assert [scores.choice(by) for by in ("sum", "token", "byte")] == [0, 1, 2]
    with pytest.raises(InputError, match="by='word' must be one of"):
        scores.choice("word")


def test_right_answers_are_counted_by_question():
    sure = ChoiceScores(np.array([0.0, -1.0]), np.array([1, 1]), np.array([1, 1]))
    other = Question("Is it so?", ("yes", "no"), 1)
    assert right_answers([sure, sure], [TWO, other]).tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("B", 1),
        (" B. an owl", 1),
        ("(C)", 2),
        ("The answer is D.", 3),
        ("the correct option: B", 1),
        ("Answer: **A**", 0),
        ("It must be an owl, since it flies.", 1),
        ("A cat or an owl", None),
        ("A catalog of owls", None),
        ("Option B: the option B is right.", 1),
        ("Option A is wrong, so the answer is B.", None),
        ("B. The other choice, C, is wrong.", None),
        ("I don't know", None),
        ("E", None),
        ("", None),
    ],
)
def test_what_was_written_names_one_choice_or_none(text, place):
    assert written_choice(text, FOUR) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [("It is 5.", 1), ("14", None), ("5th", None), ("2.5", None), ("5.0", None)],
)
def test_a_choice_stands_in_a_text_as_a_whole(text, place):
    assert written_choice(text, Question("2 + 3?", ("4", "5"), 1)) == place


def test_nothing_to_ask_is_refused(model):
    with pytest.raises(InputError, match="no questions"):
        score_choices(model, Bytes(), [])
    with pytest.raises(InputError, match="batch=0 must be an integer of at least 1"):
        score_choices(model, Bytes(), [TWO], batch=0)
    long = Question("x" * 200, ("yes", "no"), 0)
    with pytest.raises(InputError, match="context"):
        score_choices(model, Bytes(), [long])


def test_no_gradient_is_kept(model):
    (scores,) = score_choices(model, Bytes(), [TWO])
    assert math.isfinite(scores.logp.sum())
    assert all(p.grad is None for p in model.parameters())


class Tight:
    """Bytes; of an answer of one letter without the space."""

    def encode(self, text):
        return Bytes().encode(text.strip() if len(text) == 2 else text)


ONE_BYTE = [Question(q.text, ("x", "q"), 0) for q in (FOUR, TWO)]


@torch.no_grad()
def test_a_prompt_is_read_once_for_answers_of_one_token(model):
    """Of two questions of unequal length; a token has the number that it has alone."""
    found = score_choices(model, Tight(), ONE_BYTE)
    for question, scores in zip(ONE_BYTE, found, strict=True):
        prompt = f"Question: {question.text}\nAnswer:"
        expected = [by_hand(model, prompt, c) for c in question.choices]
        np.testing.assert_allclose(scores.logp, expected, rtol=1e-5)
        assert scores.tokens.tolist() == [1, 1]


def test_a_model_in_training_is_read_in_evaluation_mode(model):
    expected = score_choices(model, Tight(), ONE_BYTE)
    found = score_choices(model.train(), Tight(), ONE_BYTE)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.logp, theirs.logp)
    assert model.training


@torch.no_grad()
def test_half_precision_ends_at_the_logits(model):
    """Their log-softmax in bfloat16 has steps of 1/32 nat at -5, and makes false ties."""
    found = score_choices(model.bfloat16(), Tight(), ONE_BYTE[:1])
    ids = torch.tensor([list(f"Question: {FOUR.text}\nAnswer:".encode())])
    expected = model(ids)[0, -1].double().log_softmax(-1)[list(b"xq")]
    np.testing.assert_allclose(found[0].logp, expected, atol=2e-6)

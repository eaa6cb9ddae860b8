"""Multiple choice: by the likelihood of each answer, of its letter, and as it was written."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..checks import require_counts
from ..errors import InputError
from ..generate import IncrementalReader, score
from ..generate.decoding import evaluating
from ..models import GPT, Recurrent
from ..progress import track
from ..text.corpora.questions import LETTERS, Question

By = Literal["sum", "token", "byte"]


@runtime_checkable
class Encoder(Protocol):
    """What is asked of a tokenizer."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        ...


@dataclass(frozen=True, eq=False)
class ChoiceScores:
    """Log-likelihood of every choice of one question.

    Args:
        logp: Of each choice, given the question, (C,) [nats].
        tokens: Tokens of each choice, (C,).
        bytes: Bytes of each choice, with the space before it, (C,).

    Example:
        >>> scores = ChoiceScores(np.array([-2.0, -3.0]), np.array([1, 3]), np.array([4, 12]))
        >>> scores.choice(), scores.choice("token")  # the shorter answer; -1 nat per token
        (0, 1)
    """

    logp: NDArray[np.float64]
    tokens: NDArray[np.int64]
    bytes: NDArray[np.int64]

    def choice(self, by: By = "sum") -> int:
        """Place of the likeliest choice; of equal ones the first.

        Implements eq-eval-choice::

            argmax_c log p(c | question) / w_c,   w_c = 1, tokens or bytes of c

        Args:
            by: "sum" asks which text the model would rather write, so a short answer is ahead;
                "token" and "byte" divide by the length, so a long one is, whose later words
                follow from its first.

        Raises:
            InputError: If ``by`` is none of the three.
        """
        one = np.ones_like(self.tokens)
        weights = {"sum": one, "token": self.tokens, "byte": self.bytes}
        if by not in weights:
            raise InputError(f"by={by!r} must be one of {list(weights)}")
        return int(np.argmax(self.logp / weights[by]))


def score_choices(
    model: GPT | Recurrent,
    tokenizer: Encoder,
    questions: Sequence[Question],
    prompt: Callable[[Question], str] = lambda q: f"Question: {q.text}\nAnswer:",
    *,
    batch: int = 16,
) -> list[ChoiceScores]:
    """How likely the model finds each answer as a continuation of its question.

    Args:
        model: The language model.
        tokenizer: Of the model; question and answer are encoded apart, the answer with a space
            before it.
        questions: At least one.
        prompt: What stands before the answers.
        batch: Questions that are read together.

    Returns:
        Scores of each question.

    Raises:
        InputError: If there is no question, or one with an answer is longer than the context.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> from mathlm.text import Bytes
        >>> sizes = dict(vocab_size=256, context=64, d_model=16, n_layers=1, n_heads=2)
        >>> question = Question("2 + 3?", ("four", "five", "six"), answer=1)
        >>> (scores,) = score_choices(GPT(GPTConfig(**sizes)), Bytes(), [question])
        >>> scores.logp.shape, scores.bytes.tolist()  # with the space
        ((3,), [5, 5, 4])
    """
    return _scored(
        model, tokenizer, questions, prompt, lambda q: [f" {c}" for c in q.choices], batch
    )


def score_letters(
    model: GPT | Recurrent,
    tokenizer: Encoder,
    questions: Sequence[Question],
    prompt: Callable[[Question], str] = lambda q: q.lettered,
    *,
    batch: int = 16,
) -> list[ChoiceScores]:
    """How likely the model finds the letter of each answer, where the question lists them all.

    The model has to know what the letters stand for, which small models do not: they have a
    favorite letter. All answers are as long, so that ``by`` changes nothing.

    Args:
        model: The language model.
        tokenizer: Of the model.
        questions: At least one.
        prompt: What stands before the letter, with the choices in it.
        batch: Questions that are read together.

    Returns:
        Scores of each question.

    Raises:
        InputError: As :func:`score_choices`.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> from mathlm.text import Bytes
        >>> sizes = dict(vocab_size=256, context=64, d_model=16, n_layers=1, n_heads=2)
        >>> question = Question("2 + 3?", ("four", "five", "six"), answer=1)
        >>> (scores,) = score_letters(GPT(GPTConfig(**sizes)), Bytes(), [question])
        >>> scores.bytes.tolist()  # " A", " B" and " C"
        [2, 2, 2]
    """
    return _scored(
        model,
        tokenizer,
        questions,
        prompt,
        lambda q: [f" {letter}" for letter in LETTERS[: len(q.choices)]],
        batch,
    )


@torch.no_grad()
def _scored(
    model: GPT | Recurrent,
    tokenizer: Encoder,
    questions: Sequence[Question],
    prompt: Callable[[Question], str],
    answers: Callable[[Question], list[str]],
    batch: int,
) -> list[ChoiceScores]:
    require_counts(1, batch=batch)
    if not questions:
        raise InputError("no questions: give at least one")
    device = next(model.parameters()).device

    def ids(text: str) -> Tensor:
        return torch.tensor(tokenizer.encode(text), device=device)

    found = []
    for start in track(range(0, len(questions), batch), "questions"):
        asked = questions[start : start + batch]
        texts = [answers(q) for q in asked]
        prompts = [ids(prompt(q)) for q in asked]
        rows = _given(model, prompts, [[ids(text) for text in many] for many in texts])
        totals = iter([float(row.double().sum()) for row in rows])
        lengths = iter([len(row) for row in rows])
        for many in texts:
            found.append(
                ChoiceScores(
                    np.array([next(totals) for _ in many]),
                    np.array([next(lengths) for _ in many]),
                    np.array([len(text.encode()) for text in many]),
                )
            )
    return found


def _given(
    model: GPT | Recurrent, prompts: Sequence[Tensor], answers: Sequence[Sequence[Tensor]]
) -> list[Tensor]:
    """Log-probabilities of the tokens of every answer, given the prompt of its question."""
    if any(len(ids) > 1 for many in answers for ids in many):
        of_each = [p for p, many in zip(prompts, answers, strict=True) for _ in many]
        return score(model, of_each, [ids for many in answers for ids in many])
    # letters: one reading of each prompt says how likely every next token is
    real = pad_sequence([torch.ones_like(p) for p in prompts], batch_first=True).bool()
    with evaluating(model):
        reader = IncrementalReader(model, len(prompts), real.shape[1])
        logits = reader.read(pad_sequence(list(prompts), batch_first=True), real)
    logp = (logits.float() if logits.itemsize < 4 else logits).log_softmax(-1)
    pairs = zip(logp, answers, strict=True)
    return [row[ids] for row, many in pairs for ids in many]


NAMED = r"\b(?i:answer|option|choice)\b[^A-Z]{0,12}\b([A-Z])\b"
FIRST = r"\A\W*([A-Z])(?:[).:]|\W*\Z|\s*\n)"  # and not the article of "A cat"
WRITTEN = re.compile(f"{NAMED}|{FIRST}")


def written_choice(text: str, question: Question) -> int | None:
    """Which choice an answer names that a model has written freely.

    A letter after "answer", "option" or "choice", or one with which the text begins; else the
    one choice that stands in it, as whole words.

    Args:
        text: What the model wrote.
        question: What it was asked.

    Returns:
        Place of the choice; None if it names none or several, which counts as wrong.

    Example:
        >>> question = Question("2 + 3?", ("four", "five"), answer=1)
        >>> written_choice("The answer is B.", question)
        1
        >>> written_choice("four or five", question) is None  # several
        True
    """
    letters = (match[1] or match[2] for match in WRITTEN.finditer(text.strip()))
    said = {LETTERS.index(letter) for letter in letters}
    if not said:
        said = {i for i, c in enumerate(question.choices) if _stands_in(text, c)}
    if len(said) != 1 or max(said) >= len(question.choices):
        return None
    return said.pop()


def _stands_in(text: str, choice: str) -> bool:
    """Whether a choice stands in a text, and not as a part of a word or of a number."""
    whole = rf"(?<!\w)(?<!\d[.,]){re.escape(choice.lower())}(?!\w|[.,]\d)"
    return re.search(whole, text.lower()) is not None


def right_answers(
    scores: Iterable[ChoiceScores], questions: Iterable[Question], by: By = "sum"
) -> NDArray[np.bool_]:
    """Whether the likeliest choice is the right one, question by question.

    Args:
        scores: Of each question.
        questions: In the same order.
        by: As :meth:`ChoiceScores.choice`.

    Raises:
        ValueError: If there are not as many of both.

    Example:
        >>> question = Question("2 + 3?", ("4", "5"), answer=1)
        >>> scores = ChoiceScores(np.array([-2.0, -1.0]), np.array([1, 1]), np.array([2, 2]))
        >>> right_answers([scores], [question])
        array([ True])
    """
    pairs = zip(scores, questions, strict=True)
    return np.array([one.choice(by) == q.answer for one, q in pairs], dtype=bool)

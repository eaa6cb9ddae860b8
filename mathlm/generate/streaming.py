"""Text from a model, as it is written: whole characters, and nothing that is taken back."""

import operator
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..models import GPT, Recurrent
from ..text import ByteBPE, Bytes, DecodeStream
from .decoding import stream
from .sampling import Sampler
from .stopping import Finish, Step


@runtime_checkable
class TextTokenizer(Protocol):
    """What writing needs of a tokenizer, such as :class:`mathlm.text.ByteBPE`."""

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        ...

    def decode(self, ids: Iterable[Any]) -> str:
        """Text of ids."""
        ...


class TextStream:
    """Pieces of a text while a model writes it; joined they are the whole text.

    A piece holds whole characters, and no beginning of a stop string: that waits until the
    next tokens show that it is none. Made by :func:`stream_text`.

    Args:
        steps: Steps of a single row.
        decoder: From tokens to characters.
        stop: Strings before which the text ends.
        without_steps: Why it ended if there is no step at all.
    """

    def __init__(
        self,
        steps: Iterator[Step],
        decoder: "DecodeStream | TokenTexts",
        stop: Sequence[str] = (),
        without_steps: Finish = "length",
    ) -> None:
        self.ids: list[int] = []  # new tokens so far, those of a stop string too
        self._ends: list[Finish] = [without_steps]  # what each step said, and the last word
        self._written = [False]
        self._pieces = _pieces(
            steps, decoder, StopGate(stop), self.ids, self._ends, self._written
        )

    @property
    def finish(self) -> Finish | None:
        """Why the text ended; None before the last piece has come."""
        return self._ends[-1] if self._written[-1] else None

    def __iter__(self) -> "TextStream":
        return self

    def __next__(self) -> str:
        """The next piece; never an empty one."""
        return next(self._pieces)

    def close(self) -> None:
        """End before the model has; it gets its own mode back."""
        self._pieces.close()


class StopGate:
    """Lets a text pass up to the first stop string, and holds back what may become one.

    Of several the one that is complete first counts; of those complete together the longest.
    How the text is cut into pieces changes nothing.

    Args:
        stop: The strings, none empty.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self.stop, self.held, self.stopped = tuple(stop), "", False

    def push(self, text: str) -> str:
        """What is certain to stand before any stop string, once ``text`` has come."""
        if self.stopped:
            return ""
        text, self.held = self.held + text, ""
        places = [(text.find(s), s) for s in self.stop if s in text]
        if places:
            self.stopped = True
            return text[: min((i + len(s), i) for i, s in places)[1]]
        waits = max((_overlap(text, s) for s in self.stop), default=0)
        self.held = text[len(text) - waits :]
        return text[: len(text) - waits]

    def end(self) -> str:
        """What was held back, when no text follows."""
        rest, self.held = self.held, ""
        return rest


class TokenTexts:
    """Pieces from a tokenizer that can only decode whole lists of ids.

    Args:
        tokenizer: Whose text for some ids is the beginning of that for these and one more.
    """

    def __init__(self, tokenizer: TextTokenizer) -> None:
        self.tokenizer, self.ids, self.text = tokenizer, list[int](), ""

    def push(self, token: int) -> str:
        """Text that ``token`` adds."""
        self.ids.append(token)
        before, self.text = self.text, self.tokenizer.decode(self.ids)
        if not self.text.startswith(before):
            raise InputError(
                f"token {token} turns {before[-20:]!r} into {self.text[-20:]!r}: what this "
                "tokenizer writes cannot be streamed; take generate, and decode the whole"
            )
        return self.text[len(before) :]

    def end(self) -> str:
        """Nothing is ever left."""
        return ""


def _pieces(
    steps: Iterator[Step],
    decoder: "DecodeStream | TokenTexts",
    gate: StopGate,
    ids: list[int],
    ends: list[Finish],
    written: list[bool],
) -> Generator[str, None, None]:
    """What a :class:`TextStream` gives; it does not hold the stream, which frees it at once."""
    try:
        for step in steps:
            ids.append(int(step.tokens))
            if step.finish[0] is not None:
                ends.append(step.finish[0])
            if piece := gate.push(decoder.push(ids[-1])):
                yield piece
            if gate.stopped:
                break
        rest = "" if gate.stopped else gate.push(decoder.end()) + gate.end()
        if gate.stopped:
            ends.append("stop")
        written.append(True)
        if rest:
            yield rest
    finally:
        if isinstance(steps, Generator):
            steps.close()


def stream_text(
    model: GPT | Recurrent,
    tokenizer: TextTokenizer,
    prompt: str | Sequence[int] | np.ndarray,
    max_new_tokens: int,
    sampler: Sampler | float | int | None = None,
    *,
    stop: Sequence[str] | None = None,
    **options: Any,
) -> TextStream:
    """Continue a text, piece by piece.

    Args:
        model: The language model.
        tokenizer: Of the model's vocabulary.
        prompt: Text to continue; or its ids, for a chat say, whose marks no text can make.
        max_new_tokens: Tokens after which the text is cut off.
        sampler: How a token is drawn: a :class:`Sampler`; or a temperature, and other fields of
            a sampler by name among the options.
        stop: Strings; the text ends before the first of them. A special token is known by its
            name. One that a constraint never writes stops nothing.
        options: The others of :func:`mathlm.generate.stream`: seed, cache, constraint, fixed.

    Returns:
        An iterator over pieces, none empty. Its ``finish`` says at the end whether a stop
        string was met or a constrained text complete ("stop"), or the tokens were used up
        ("length"); its ``ids`` are the new tokens.

    Raises:
        InputError: If the prompt is empty, tokenizer and model have vocabularies of different
            sizes, a stop string is empty or holds what is not Unicode text, or as in
            :func:`generate`.
        InputTypeError: If the prompt is neither text nor ids, or ``stop`` is one string.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> pieces = stream_text(GPT(GPTConfig(**sizes)), Bytes(), "To be", 8, seed=0)
        >>> text = "".join(pieces)
        >>> pieces.finish, len(pieces.ids)
        ('length', 8)
    """
    _require_stop(stop)
    _require_same_vocabulary(model, tokenizer)
    ids = _prompt_ids(tokenizer, prompt, next(model.parameters()).device)
    steps = stream(model, ids, max_new_tokens, sampler, **options)
    complete: Finish = "stop" if max_new_tokens else "length"  # only the empty text may come
    return TextStream(steps, _decoder(tokenizer), stop or (), complete)


def write(
    model: GPT | Recurrent,
    tokenizer: TextTokenizer,
    prompt: str | Sequence[int] | np.ndarray,
    max_new_tokens: int,
    sampler: Sampler | float | int | None = None,
    *,
    stop: Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Continue a text: all pieces of :func:`stream_text`, whose arguments these are.

    Returns:
        The new text, without the prompt and without the stop string.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> text = write(GPT(GPTConfig(**sizes)), Bytes(), "To be", 8, temperature=0.8, seed=0)
        >>> isinstance(text, str)
        True
    """
    pieces = stream_text(
        model, tokenizer, prompt, max_new_tokens, sampler, stop=stop, **options
    )
    return "".join(pieces)


def _overlap(text: str, stop: str) -> int:
    """Characters at the end of a text that a stop string may begin with."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)


def _decoder(tokenizer: TextTokenizer) -> "DecodeStream | TokenTexts":
    if isinstance(tokenizer, ByteBPE | Bytes):
        return tokenizer.stream()
    return TokenTexts(tokenizer)


def _prompt_ids(
    tokenizer: TextTokenizer, prompt: str | Sequence[int] | np.ndarray, device: torch.device
) -> Tensor:
    """The ids of a prompt as a batch of one row."""
    if isinstance(prompt, bytes | bytearray):
        raise InputTypeError("prompt is bytes: decode it, or give a list of token ids")
    given = tokenizer.encode(prompt) if isinstance(prompt, str) else prompt
    try:
        ids = [operator.index(i) for i in given]
    except TypeError:
        raise InputTypeError(
            f"prompt is {prompt!r:.60}: give text, or a list of token ids"
        ) from None
    if not ids:
        raise InputError(
            "the prompt is empty: a model continues at least one token; begin with a line "
            "break, or with the mark that texts began with in training"
        )
    return torch.tensor([ids], device=device)


def _require_stop(stop: Sequence[str] | None) -> None:
    if stop is None:
        return
    if isinstance(stop, str):
        raise InputTypeError(f"stop={stop!r} is one string: give a list, stop=[{stop!r}]")
    if not hasattr(stop, "__len__"):
        raise InputTypeError(
            f"stop={stop!r} is one {type(stop).__name__}: give a list of strings"
        )
    for i, s in enumerate(stop):
        if not isinstance(s, str):
            raise InputTypeError(f"stop[{i}]={s!r} must be a string; token ids go to generate")
        if not s:
            raise InputError(f"stop[{i}] is empty: it would end a text before it begins")
        if any("\ud800" <= c <= "\udfff" for c in s):
            raise InputError(f"stop[{i}]={s!r} holds half a surrogate pair: no text ever does")


def _require_same_vocabulary(model: GPT | Recurrent, tokenizer: TextTokenizer) -> None:
    if isinstance(tokenizer, type) or not isinstance(tokenizer, TextTokenizer):
        raise InputTypeError(
            f"tokenizer is a {type(tokenizer).__name__}: give an object with encode and "
            "decode, such as Bytes()"
        )
    size = getattr(tokenizer, "vocab_size", None)
    size = len(tokenizer) if size is None else size  # type: ignore[arg-type]
    if size != model.config.vocab_size:
        raise InputError(
            f"the tokenizer has {size} tokens, the model {model.config.vocab_size}: give the "
            "tokenizer that the model was trained with"
        )

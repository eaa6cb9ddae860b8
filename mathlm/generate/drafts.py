"""Guesses of the next few tokens, for a target to accept or replace."""

from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..models import GPT
from ..shapes import Float, Int
from .decoding import require_integer
from .kv_reader import IncrementalReader
from .sampling import PLAIN, Sampler

Outcome = TypeVar("Outcome", bound=Hashable)


@runtime_checkable
class Choices(Protocol):
    """Makes the random choices of a program."""

    def token(self, p: Float[Tensor, " V"]) -> int:
        """A token, each with its probability."""
        ...

    def accepts(self, probability: float) -> bool:
        """True with this probability; one above 1 counts as 1."""
        ...


class RandomChoices:
    """Choices made with a stream of random numbers.

    Args:
        stream: NumPy generator; each choice takes one number from it.

    Example:
        >>> choices = RandomChoices(np.random.default_rng(0))
        >>> choices.token(torch.tensor([0.0, 1.0])), choices.accepts(1.0), choices.accepts(0.0)
        (1, True, False)
    """

    def __init__(self, stream: np.random.Generator) -> None:
        self.stream = stream

    def token(self, p: Float[Tensor, " V"]) -> int:
        """A token, each with its probability."""
        cumulative = p.cumsum(-1)
        u = float(self.stream.random(dtype=np.float32))  # exact in float32: below 1 there too
        return int(torch.searchsorted(cumulative, u * cumulative[-1:], right=True))

    def accepts(self, probability: float) -> bool:
        """True with this probability."""
        return self.stream.random() < probability


class _Path:
    """Choices that follow a path and then take the first way that is possible."""

    def __init__(self, path: tuple[int, ...]) -> None:
        self.path, self.weight = path, 1.0
        self.made: tuple[int, ...] = ()
        self.untried: list[tuple[int, ...]] = []

    def token(self, p: Float[Tensor, " V"]) -> int:
        return self._choose(p.tolist())

    def accepts(self, probability: float) -> bool:
        accept = min(probability, 1.0)
        return self._choose([1.0 - accept, accept]) == 1

    def _choose(self, p: list[float]) -> int:
        if len(self.made) < len(self.path):
            choice = self.path[len(self.made)]
        else:
            choice, *others = [i for i, weight in enumerate(p) if weight > 0]
            self.untried += [(*self.made, other) for other in others]
        self.made += (choice,)
        self.weight *= p[choice]
        return choice


def outcome_distribution(
    run: Callable[[Choices], Outcome], most: int = 1_000_000
) -> dict[Outcome, float]:
    """Exact distribution of what a program returns, from every choice that it can make.

    Computes::

        P(y) = Σ over the paths that end in y of Π over the choices of a path of p(choice)

    The program is run once for each path: for a few tokens of a small vocabulary.

    Args:
        run: The program; all its randomness comes from the choices that it is given, and it
            must do the same each time that these are the same.
        most: Paths at most.

    Returns:
        Probability of each outcome that is possible; they sum to 1.

    Raises:
        InputError: If there are more paths.

    Example:
        >>> coin = torch.tensor([0.5, 0.5])
        >>> outcome_distribution(lambda choices: choices.token(coin) + choices.token(coin))
        {0: 0.25, 1: 0.5, 2: 0.25}
    """
    found: dict[Outcome, float] = {}
    waiting: list[tuple[int, ...]] = [()]
    for _ in range(most):
        path = _Path(waiting.pop())
        outcome = run(path)
        found[outcome] = found.get(outcome, 0.0) + path.weight
        waiting += path.untried
        if not waiting:
            return found
    raise InputError(
        f"after most={most} paths {len(waiting)} or more are left: shorten the program, shrink "
        "the vocabulary, or raise `most`"
    )


class Proposal(NamedTuple):
    """Guessed tokens, and the distributions that they were drawn from.

    Args:
        tokens: The draft_tokens, (n,), int64.
        q: Probabilities that each was drawn with given those before it, (n, V); None = there
            was no chance in it, each draft token had probability 1.
    """

    tokens: Tensor
    q: Tensor | None = None


@runtime_checkable
class Draft(Protocol):
    """Draft of speculative decoding: drafts how a text goes on; any callable of this form."""

    def __call__(self, ids: Tensor, draft_length: int, choices: Choices) -> Proposal:
        """Guess what follows.

        Args:
            ids: The text so far (T,).
            draft_length: Guesses at most; fewer may be made, and none.
            choices: Makes the random choices, so that a seed fixes the text.
        """
        ...


class ModelDraft:
    """Draft model: draft tokens drawn from a smaller model, token by token.

    It remembers what it has read of a text, and takes back what was rejected.

    Args:
        model: The model, in evaluation mode.
        capacity: Tokens of the longest text; None = the model's context.
        sampler: How a token is drawn.
        given: Tokens of a text that are its prompt, which some penalties do not count.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> draft = ModelDraft(GPT(GPTConfig(**sizes)).eval())
        >>> choices = RandomChoices(np.random.default_rng(0))
        >>> proposal = draft(torch.tensor([84, 111]), 3, choices)
        >>> proposal.tokens.shape, proposal.q.shape
        (torch.Size([3]), torch.Size([3, 256]))
    """

    def __init__(
        self,
        model: GPT,
        capacity: int | None = None,
        sampler: Sampler = PLAIN,
        given: int = 0,
    ) -> None:
        room = model.config.context if capacity is None else capacity
        self.reader = IncrementalReader(model, 1, room)
        self.sampler, self.given = sampler, given

    def __call__(self, ids: Tensor, draft_length: int, choices: Choices) -> Proposal:
        """Draw ``draft_length`` tokens, each given those before it."""
        self._forget_other_text(ids)
        text, q = ids, []
        for _ in range(draft_length):
            logits = self.reader.read(text[None, self.reader.length :])
            q.append(probabilities_behind(logits, text, self.given, self.sampler)[0])
            text = torch.cat((text, ids.new_tensor([choices.token(q[-1])])))
        return Proposal(text[len(ids) :], torch.stack(q) if q else None)

    def _forget_other_text(self, ids: Tensor) -> None:
        """Keep what was read of this text, its last token excepted."""
        n = min(self.reader.length, len(ids) - 1)
        same = self.reader.ids[0, :n] == ids[:n]
        self.reader.rewind(n if same.all() else int(same.int().argmin()))


class PromptLookup:
    """Prompt lookup: draft tokens copied from earlier in the text, where it went on like this.

    Computes::

        find the latest x[s-n … s-1] = x[T-n … T-1] with s < T, n as large as it gets;
        draft x[s], x[s+1], …   and again from x[s] on where the text ends

    It reads no model, and drafts nothing where the text repeats nothing.

    Args:
        longest: Tokens that must be equal, at first.
        shortest: Tokens that must be equal at least.

    Raises:
        InputError: If not 1 <= shortest <= longest.
        InputTypeError: If one is no integer.

    Example:
        >>> ids = torch.tensor([5, 6, 7, 8, 5, 6])  # 5, 6 stood before, and 7, 8 followed
        >>> draft = PromptLookup(shortest=2)
        >>> draft(ids, 2, RandomChoices(np.random.default_rng(0))).tokens
        tensor([7, 8])

    References:
        Saxena (2023), Prompt lookup decoding.
    """

    def __init__(self, longest: int = 8, shortest: int = 2) -> None:
        require_integer("longest", longest)
        require_integer("shortest", shortest)
        if not 1 <= shortest <= longest:
            raise InputError(
                f"shortest={shortest} and longest={longest}: need 1 <= shortest <= longest"
            )
        self.longest, self.shortest = longest, shortest

    def __call__(self, ids: Int[Tensor, " T"], draft_length: int, choices: Choices) -> Proposal:
        """Copy ``draft_length`` tokens, or none."""
        start = self._find(ids)
        if start is None:
            return Proposal(ids[:0])
        steps = torch.arange(draft_length, device=ids.device)
        return Proposal(ids[start + steps % (len(ids) - start)])

    def _find(self, ids: Tensor) -> int | None:
        """Where the tokens stand that followed the latest of the longest equal runs."""
        if len(ids) < 2:
            return None
        n = self.longest
        padded = torch.cat((ids.new_full((n,), -1), ids))
        same = padded[:-1].unfold(0, n, 1)[1:] == padded[-n:]  # (T - 1, n), ends at each place
        equal = (same & (padded[-n:] >= 0)).flip(1).int().cumprod(1).sum(1)
        if equal.max() < self.shortest:
            return None
        places = torch.arange(len(equal), device=ids.device)
        return int((equal * len(ids) + places).argmax()) + 1


def probabilities_behind(
    logits: Float[Tensor, "n V"], text: Int[Tensor, " T"], given: int, sampler: Sampler
) -> Float[Tensor, "n V"]:
    """What is drawn from behind each of the last n tokens of a text.

    Args:
        logits: Logits behind them.
        text: The text, its prompt included.
        given: Tokens of the prompt.
        sampler: How a token is drawn; its penalties hear of all tokens before the drawn one.
    """
    if not sampler.penalizes:
        return sampler.probabilities(logits)
    first = len(text) - len(logits) + 1
    rows = [
        sampler.probabilities(row, text[:given], text[given : first + i])
        for i, row in enumerate(logits)
    ]
    return torch.stack(rows)

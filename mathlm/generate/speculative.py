"""Speculative decoding: draft several tokens, and read them all in one step of the target.

Leviathan et al. (2023), arXiv:2211.17192; Chen et al. (2023), arXiv:2302.01318.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..functional import acceptance_probability, require_token_ids
from ..functional.speculation import excess
from ..models import GPT, Recurrent
from ..shapes import Int
from .decoding import evaluating, require_integer, require_prompt, require_seed
from .drafts import (
    Choices,
    Draft,
    ModelDraft,
    Proposal,
    RandomChoices,
    probabilities_behind,
)
from .kv_reader import IncrementalReader
from .sampling import PLAIN, Sampler, sampler_of
from .stopping import Rows, Stops, stop_sequences


class Round(NamedTuple):
    """One round of speculative decoding: what one reading of the target yielded.

    Args:
        tokens: New tokens of the text: accepted draft tokens, and one more, (accepted + 1,).
        draft_tokens: All that were drafted, (n,).
        accepted: How many of the draft tokens were accepted.
        p: Probabilities of the target at each draft token and behind the last, (n + 1, V).
        q: Probabilities of the draft at each draft token, (n, V).
    """

    tokens: Tensor
    draft_tokens: Tensor
    accepted: int
    p: Tensor
    q: Tensor

    @property
    def examined(self) -> int:
        """Guesses that were put to the test: all up to the first that was rejected."""
        return min(self.accepted + 1, len(self.draft_tokens))

    @property
    def chances(self) -> Tensor:
        """Acceptance probability of each draft token that was examined."""
        n = self.examined
        return acceptance_probability(self.p[:n], self.q[:n]) if n else self.p.new_zeros(0)


def speculate(
    target: GPT,
    draft: GPT | Draft,
    ids: Int[Tensor, " T"],
    max_new_tokens: int,
    draft_length: int,
    choices: Choices,
    sampler: Sampler = PLAIN,
) -> Iterator[Round]:
    """Speculative decoding of one text: round by round what was drafted and what accepted.

    Computes::

        draft:   x₁ ~ q₁, …, x_γ ~ q_γ
        target:  p₁ … p_γ₊₁ from one reading of x₁ … x_γ
        accept   xᵢ with probability min(1, pᵢ(xᵢ) / qᵢ(xᵢ)), up to the first rejected one
        then     one token from max(0, pᵢ - qᵢ) / Σ max(0, pᵢ - qᵢ) in place of that,
                 or from p_γ₊₁ if none was rejected

    Args:
        target: The model whose text is wanted, in evaluation mode.
        draft: A smaller model in evaluation mode, or another :class:`Draft`.
        ids: Prompt (T,), int64.
        max_new_tokens: Tokens to add.
        draft_length: γ, draft tokens in a round; fewer in the last rounds if there is no
            room.
        choices: Makes the random choices.
        sampler: How a token is drawn, from both models.

    Returns:
        The rounds; their tokens joined are the new ones, ``max_new_tokens`` in all.

    Raises:
        InputError: If the prompt is empty, the text gets longer than the context of a model,
            the models have other tokens, ``draft_length`` is not positive, a draft token is
            impossible, or what it was drawn from is no distribution.
        InputTypeError: If the target cannot take back what it has read, or an argument or
            what the draft gives is of another kind.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)).eval(), torch.tensor([84, 111])
        >>> choices, greedy = RandomChoices(np.random.default_rng(0)), Sampler(temperature=0)
        >>> rounds = speculate(model, model, ids, 8, 3, choices, greedy)  # its own draft
        >>> [(round.accepted, len(round.tokens)) for round in rounds]
        [(3, 4), (3, 4)]
    """
    require_pair(target, draft)
    _require_text(target, ids, max_new_tokens)
    total = len(ids) + max_new_tokens
    require_speculation(target, draft, total, draft_length)
    if isinstance(draft, GPT):
        draft = ModelDraft(draft, total, sampler, given=len(ids))
    reader = IncrementalReader(target, 1, total)
    return _rounds(reader, draft, ids, total, draft_length, choices, sampler)


def _rounds(
    reader: IncrementalReader,
    draft: Draft,
    text: Tensor,
    total: int,
    draft_length: int,
    choices: Choices,
    sampler: Sampler,
) -> Iterator[Round]:
    given = len(text)
    if len(text) > 1 and total > len(text):
        reader.read(text[None, :-1])
    while len(text) < total:
        room = min(draft_length, total - len(text) - 1)  # one more token comes from the target
        proposal = draft(text, room, choices) if room else Proposal(text[:0])
        _require_proposal(proposal)
        draft_tokens, q = proposal
        _require_draft_tokens(draft_tokens, room, reader.model.config.vocab_size)
        drafted = torch.cat((text, draft_tokens))
        logits = reader.read(drafted[None, reader.length :], last=False)[0]
        p = probabilities_behind(logits, drafted, given, sampler)
        done = _examine(draft_tokens, p, _probabilities_of(draft_tokens, q, p), choices)
        text = torch.cat((text, done.tokens))
        reader.rewind(len(text) - 1)
        yield done


def _examine(draft_tokens: Tensor, p: Tensor, q: Tensor, choices: Choices) -> Round:
    """Accept draft tokens up to the first that fails, and add a token."""
    n, index = len(draft_tokens), draft_tokens.unsqueeze(1)
    ratios = (p[:n].gather(1, index) / q.gather(1, index))[:, 0].tolist()
    accepted = next((i for i in range(n) if not choices.accepts(ratios[i])), n)
    last = p[n] if accepted == n else excess(p[accepted], q[accepted])
    token = draft_tokens.new_tensor([choices.token(last)])
    return Round(torch.cat((draft_tokens[:accepted], token)), draft_tokens, accepted, p, q)


def _probabilities_of(draft_tokens: Tensor, q: Tensor | None, p: Tensor) -> Tensor:
    """What the draft tokens were drawn from, as the target's probabilities are given."""
    V = p.shape[1]
    if q is None:
        return nn.functional.one_hot(draft_tokens, V).to(p.dtype)
    if q.shape != (len(draft_tokens), V):
        raise InputError(
            f"the draft gave q of shape {tuple(q.shape)} for {len(draft_tokens)} draft tokens, "
            f"expected ({len(draft_tokens)}, {V}): a probability for each token of the target"
        )
    _require_distributions(q)
    drawn = q.gather(1, draft_tokens.unsqueeze(1))
    if not (drawn > 0).all():
        place = int((~(drawn > 0)).nonzero()[0, 0])
        raise InputError(
            f"draft token {place} of a round is token {int(draft_tokens[place])}, which its "
            f"own draft gives probability {drawn[place].item():.4g}: it cannot have been drawn"
        )
    return q.to(p.dtype)


def require_pair(target: GPT, draft: GPT | Draft) -> None:
    """Refuse what cannot take back a rejected draft token, or makes none."""
    if not isinstance(target, GPT):
        raise InputTypeError(
            f"the target is a {type(target).__name__}: rejected draft tokens can only be "
            "taken back by a GPT, with its key/value cache; use generate"
        )
    if isinstance(draft, Recurrent) or not callable(draft):
        raise InputTypeError(
            f"the draft is a {type(draft).__name__}: give a GPT, which can take back what was "
            "rejected, or a callable draft(ids, draft_length, choices) -> Proposal"
        )


def require_speculation(target: GPT, draft: GPT | Draft, total: int, draft_length: int) -> None:
    """Refuse texts that are too long, no draft tokens, and models that do not go together."""
    require_integer("draft_length", draft_length)
    if draft_length < 1:
        raise InputError(
            f"draft_length={draft_length} must be at least 1; without draft tokens, "
            "use generate"
        )
    _require_context("target", target, total)
    if not isinstance(draft, GPT):
        return
    _require_context("draft", draft, total)
    ours, theirs = draft.config.vocab_size, target.config.vocab_size
    if ours != theirs:
        raise InputError(
            f"the draft has a vocabulary of {ours} tokens and the target one of {theirs}: both "
            "must have the same tokens"
        )


def _require_context(name: str, model: GPT, total: int) -> None:
    if total > model.config.context:
        raise InputError(
            f"prompt and new tokens are together {total}, longer than the context "
            f"{model.config.context} of the {name}"
        )


def _require_text(target: GPT, ids: Tensor, max_new_tokens: int) -> None:
    if not isinstance(ids, Tensor):
        raise InputTypeError(
            f"ids is a {type(ids).__name__}: give an int64 tensor (tokens,), such as "
            "torch.tensor([1, 2, 3])"
        )
    if ids.ndim != 1 or not len(ids):
        raise InputError(f"prompt has shape {tuple(ids.shape)}: give (tokens,), 1 or more")
    require_token_ids(ids, target.config.vocab_size)
    require_integer("max_new_tokens", max_new_tokens)
    if max_new_tokens < 0:
        raise InputError(f"max_new_tokens={max_new_tokens} must not be negative")


def _require_proposal(proposal: Proposal) -> None:
    if not isinstance(proposal, tuple) or len(proposal) != 2:
        raise InputTypeError(
            f"the draft gave {type(proposal).__name__}, expected a Proposal(tokens, q)"
        )
    tokens, q = proposal
    if not isinstance(tokens, Tensor) or not (q is None or isinstance(q, Tensor)):
        raise InputTypeError(
            f"the draft gave a Proposal of {type(tokens).__name__} and {type(q).__name__}, "
            "expected tensors: tokens (n,), and q (n, V) or None"
        )


def _require_distributions(q: Tensor) -> None:
    """Refuse q with which the output would not be the target's."""
    if not q.is_floating_point():
        raise InputTypeError(f"the draft gave q of {q.dtype}: give floating-point numbers")
    if (q < 0).any():
        place, token = (q < 0).nonzero()[0].tolist()
        raise InputError(
            f"q of draft token {place} gives token {token} the probability "
            f"{q[place, token].item():.4g}: less than 0 is impossible"
        )
    mass = q.double().sum(1)
    off = (mass - 1.0).abs().nan_to_num(math.inf)
    if len(q) and off.max() > min(torch.finfo(q.dtype).eps ** 0.5, 1e-3):
        place = int(off.argmax())
        raise InputError(
            f"q of draft token {place} sums to {mass[place].item():.4g}, not 1: the output "
            "would not be the target's; give the probabilities that it was drawn with"
        )


def _require_draft_tokens(draft_tokens: Tensor, room: int, V: int) -> None:
    if draft_tokens.ndim != 1 or draft_tokens.dtype != torch.int64 or len(draft_tokens) > room:
        raise InputError(
            f"the draft gave draft tokens {draft_tokens.dtype} of shape "
            f"{tuple(draft_tokens.shape)}, expected int64 (n,) with n <= {room}"
        )
    require_token_ids(draft_tokens, V, "draft token")


@torch.no_grad()
def speculative_generate(
    target: GPT,
    draft: GPT | Draft,
    ids: Tensor,
    max_new_tokens: int,
    draft_length: int = 4,
    sampler: Sampler | float | int | None = None,
    *,
    seed: int | None = None,
    mask: Tensor | None = None,
    stop: Sequence[Sequence[int] | int] | None = None,
    pad: int | None = None,
    **options: Any,
) -> Tensor:
    """Speculative decoding: continue each row as the target would, with fewer readings of it.

    Computes::

        y_t ~ p(· | prompt, y_1 … y_{t-1})   for t = 1 … max_new_tokens

    The text has exactly the distribution of :func:`mathlm.generate.generate` with the target,
    whatever the draft; a good draft makes it faster. At temperature 0 it is the same text.
    Otherwise a seed gives another text than there, for the random numbers go other ways.
    The sampler draws from both models alike; there is no constraint here. Each row
    accepts another number of draft tokens, so rows are continued one after another; each has
    its own stream of random numbers.

    Args:
        target: The model whose text is wanted.
        draft: A smaller model with the same tokens, or another :class:`Draft` such as
            :class:`PromptLookup`.
        ids: Prompts (B, T), int64.
        max_new_tokens: Tokens to add to each row.
        draft_length: γ, draft tokens in a round.
        sampler: How a token is drawn, from both models: a :class:`Sampler`; or a temperature,
            and other fields of a sampler by name among the options.
        seed: Of the random numbers; None = fresh ones.
        mask: True where a prompt token is real, (B, T); padding may be on either side.
        stop: Token sequences or single ids that end a row and are its last tokens.
        pad: Fills rows that have ended; None = each repeats its last token.
        options: Fields of a sampler, such as ``top_k=40``.

    Returns:
        Ids with the prompt in front, (B, T + n); n is ``max_new_tokens``, or less where every
        row has ended before.

    Raises:
        InputError: If the prompt is empty, prompt and new tokens are together longer than the
            context of a model, the models have other tokens, an option is out of range, or a
            stop sequence is empty or outside the vocabulary.
        InputTypeError: If a dtype or a kind of argument is wrong.

    Example:
        >>> from mathlm.generate import generate
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_heads=2)
        >>> target = GPT(GPTConfig(n_layers=2, **sizes))
        >>> draft = GPT(GPTConfig(n_layers=1, **sizes))
        >>> ids = torch.tensor([[84, 111]])
        >>> written = speculative_generate(target, draft, ids, 12, temperature=0)
        >>> torch.equal(written, generate(target, ids, 12, temperature=0))  # the same text
        True
    """
    sampler = sampler_of(sampler, options)
    require_pair(target, draft)
    require_prompt(target, ids, max_new_tokens, mask)
    require_speculation(target, draft, ids.shape[1] + max_new_tokens, draft_length)
    require_seed(seed)
    stops = stop_sequences(stop, target.config.vocab_size, None)
    _require_pad(pad, target)
    texts = []
    with ExitStack() as modes:
        for model in (target, draft):
            if isinstance(model, nn.Module):
                modes.enter_context(evaluating(model))
        for i, row in enumerate(ids):
            prompt = row if mask is None else row[mask[i]]
            choices = RandomChoices(np.random.default_rng(None if seed is None else (seed, i)))
            rounds = speculate(
                target, draft, prompt, max_new_tokens, draft_length, choices, sampler
            )
            texts.append(_until_stop(rounds, max_new_tokens, stops))
    return torch.cat((ids, ids.new_tensor(_side_by_side(texts, pad))), 1)


def _until_stop(rounds: Iterator[Round], max_new_tokens: int, stops: Stops) -> list[int]:
    """The new tokens of one text; what follows a stop sequence is left out."""
    row, text = Rows(1, max_new_tokens, stops), []
    for done in rounds:
        for token in done.tokens:
            row.push(token.unsqueeze(0))
            text.append(int(token))
            if row.finish[0]:
                return text
    return text


def _side_by_side(texts: list[list[int]], pad: int | None) -> list[list[int]]:
    """Texts of one length: shorter ones are filled, with their last token without a pad."""
    n = max(map(len, texts))
    return [t + [t[-1] if pad is None else pad] * (n - len(t)) if t else t for t in texts]


def _require_pad(pad: int | None, target: GPT) -> None:
    if pad is None:
        return
    require_integer("pad", pad)
    V = target.config.vocab_size
    if not 0 <= pad < V:
        raise InputError(f"pad={pad} is outside 0..{V - 1}")

"""Speculative decoding: guess several tokens, and read them all in one step of the target.

Leviathan et al. (2023), arXiv:2211.17192; Chen et al. (2023), arXiv:2302.01318.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import InputError
from ..models import GPT
from .checks import require_integer, require_prompt, require_seed
from .choices import RandomChoices
from .drafts import Draft
from .modes import evaluating
from .rounds import Round, require_pair, require_speculation, speculate
from .sampling import Sampler
from .stopping import Rows, Stops, stop_sequences


@torch.no_grad()
def speculative_generate(
    target: GPT,
    draft: GPT | Draft,
    ids: Tensor,
    max_new_tokens: int,
    ahead: int = 4,
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    seed: int | None = None,
    *,
    mask: Tensor | None = None,
    min_p: float | int | None = None,
    typical_p: float | int | None = None,
    repetition_penalty: float | int = 1.0,
    presence_penalty: float | int = 0.0,
    frequency_penalty: float | int = 0.0,
    stop: Sequence[Sequence[int] | int] | None = None,
    pad: int | None = None,
) -> Tensor:
    """Continue each row of ``ids`` as the target would, with fewer readings of the target.

    Computes::

        y_t ~ p(· | prompt, y_1 … y_{t-1})   for t = 1 … max_new_tokens

    The text has exactly the distribution of :func:`mathlm.generate.generate` with the target,
    whatever the draft; a good draft makes it faster. At temperature 0 it is the same text.
    Otherwise a seed gives another text than there, for the random numbers go other ways.
    The options of drawing apply to both models alike; there is no constraint here. Each row
    accepts another number of guesses, so rows are continued one after another; each has its
    own stream of random numbers.

    Args:
        target: The model whose text is wanted.
        draft: A smaller model with the same tokens, or another :class:`Draft` such as
            :class:`PromptLookup`.
        ids: Prompts (B, T), int64.
        max_new_tokens: Tokens to add to each row.
        ahead: γ, guesses in a round.
        temperature: Divides the logits; 0 takes the likeliest token.
        top_k: Draw from the k likeliest tokens; None = from all.
        top_p: Draw from the fewest tokens of this joint probability; None = from all.
        seed: Of the random numbers; None = fresh ones.
        mask: True where a prompt token is real, (B, T); padding may be on either side.
        min_p: See :func:`mathlm.generate.keep_min_p`; None = keep all.
        typical_p: See :func:`mathlm.generate.keep_typical`; None = keep all.
        repetition_penalty: See :func:`mathlm.generate.penalize_repetition`; 1 = none.
        presence_penalty: See :func:`mathlm.generate.penalize_counts`; 0 = none.
        frequency_penalty: See :func:`mathlm.generate.penalize_counts`; 0 = none.
        stop: Token sequences or single ids that end a row and are its last tokens.
        pad: Fills rows that have ended; None = each repeats its last token.

    Returns:
        Ids with the prompt in front, (B, T + n); n is ``max_new_tokens``, or less where every
        row has ended before.

    Raises:
        InputError: If the prompt is empty, prompt and new tokens are together longer than the
            context of a model, the models have other tokens, an option is out of range, or a
            stop sequence is empty or outside the vocabulary.
        InputTypeError: If a dtype or a kind of argument is wrong.
    """
    require_pair(target, draft)
    require_prompt(target, ids, max_new_tokens, mask)
    require_speculation(target, draft, ids.shape[1] + max_new_tokens, ahead)
    require_seed(seed)
    penalties = repetition_penalty, presence_penalty, frequency_penalty
    sampler = Sampler(temperature, top_k, top_p, min_p, typical_p, *penalties)
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
            rounds = speculate(target, draft, prompt, max_new_tokens, ahead, choices, sampler)
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

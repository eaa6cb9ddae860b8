"""A target for each source, from an encoder-decoder."""

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..errors import InputError
from ..functional import require_token_ids
from ..models import Transformer
from ..shapes import Float, Int
from .beam import beam_search
from .decoding import evaluating
from .sampling import token_probabilities


@torch.no_grad()
def translate(
    model: Transformer,
    source: Tensor,
    *,
    start: int,
    end: int,
    max_new_tokens: int,
    beams: int = 1,
    mask: Tensor | None = None,
    length_penalty: float | int = 0.0,
    cache: bool = True,
) -> Int[Tensor, "B T"]:
    """The likeliest target of each source, as far as a few beams can see.

    Implements eq-transformer-decode::

        m = encode(source),   y_t = argmax p(· | m, start, y_1 … y_{t-1})   until y_t = end

    The source is encoded once. All rows are decoded together with one beam; with more, each by
    :func:`beam_search`. The model is in evaluation mode meanwhile.

    Args:
        model: The encoder-decoder.
        source: Token ids (B, S), int64.
        start: Token in front of every target.
        end: Token that ends a target.
        max_new_tokens: Tokens after which a target is cut off, at least 1.
        beams: Continuations that are kept; 1 = the likeliest token each time, of equally
            likely ones the lowest.
        mask: True where a token of the source is real, (B, S); None = all are.
        length_penalty: Of :func:`beam_search`; one beam does not hear it.
        cache: Whether one beam keeps keys and values, rather than read the target again for
            each token; several beams always read it again.

    Returns:
        Ids with ``start`` in front; behind its end a row is filled with ``end``.

    Raises:
        InputError: If an option is out of range, a token is outside the vocabulary, or the
            target may grow longer than the context.
        InputTypeError: If ids are not int64.

    Example:
        >>> from mathlm.models import TransformerConfig
        >>> sizes = dict(vocab_size=20, context=16, d_model=16, n_layers=1, n_heads=2)
        >>> model = Transformer(TransformerConfig(**sizes))
        >>> source = torch.tensor([[5, 6, 7]])
        >>> target = translate(model, source, start=1, end=2, max_new_tokens=4)
        >>> int(target[0, 0])
        1
    """
    _require_options(model, start, end, max_new_tokens, beams)
    with evaluating(model):
        memory = model.encode(source, mask)
        if beams == 1:
            return _greedy(model, memory, mask, start, end, max_new_tokens, cache)
        search = (max_new_tokens, beams, end, length_penalty)
        rows = []
        for b in range(len(memory)):
            real = None if mask is None else mask[b]
            first = torch.tensor([start], device=memory.device)
            rows.append(beam_search(_behind(model, memory[b], real), first, *search)[0].ids)
        return pad_sequence(rows, batch_first=True, padding_value=end)


def _greedy(
    model: Transformer,
    memory: Tensor,
    mask: Tensor | None,
    start: int,
    end: int,
    max_new_tokens: int,
    cache: bool,
) -> Tensor:
    """The likeliest token each time, for all rows together, until each has ended."""
    ids = torch.full((len(memory), 1), start, device=memory.device)
    ended = torch.zeros(len(memory), dtype=torch.bool, device=memory.device)
    store = model.new_cache(len(memory), max_new_tokens) if cache else None
    for _ in range(max_new_tokens):
        new = ids if store is None else ids[:, store.length :]
        logits = model.decode(new, memory, memory_mask=mask, cache=store)[:, -1]
        token = token_probabilities(logits, 0.0).argmax(-1).masked_fill(ended, end)
        ids = torch.cat((ids, token.unsqueeze(1)), 1)
        ended |= token == end
        if ended.all():
            break
    return ids


def _behind(model: Transformer, memory: Float[Tensor, "S D"], mask: Tensor | None):
    """From the beginnings of targets of one source to the log-probabilities behind each."""

    def log_probabilities(ids: Int[Tensor, "N T"]) -> Float[Tensor, "N V"]:
        rows = memory.expand(len(ids), -1, -1)
        real = None if mask is None else mask.expand(len(ids), -1)
        logits = model.decode(ids, rows, memory_mask=real)[:, -1]
        return logits.float().log_softmax(-1) if logits.itemsize < 4 else logits.log_softmax(-1)

    return log_probabilities


def _require_options(
    model: Transformer, start: int, end: int, max_new_tokens: int, beams: int
) -> None:
    for name, token in (("start", start), ("end", end)):
        require_token_ids(torch.tensor(token), model.config.target_vocab, name)
    for name, value in (("max_new_tokens", max_new_tokens), ("beams", beams)):
        if value < 1:
            raise InputError(f"{name}={value} must be at least 1")
    if max_new_tokens > model.config.context:
        raise InputError(
            f"max_new_tokens={max_new_tokens}: the decoder would read as many tokens, more "
            f"than the context {model.config.context}"
        )

"""What a given text costs a model: generation's numbers for a text that is there already."""

import math
from collections.abc import Sequence
from numbers import Real

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..functional import pad_documents, require_token_ids, token_cross_entropy
from ..models import GPT, Recurrent
from ..shapes import Float
from .decoding import evaluating, require_device, require_mask
from .kv_reader import IncrementalReader

IGNORED = -100
LOGITS = 2**25  # numbers of logits that are held at a time, where no gradient is asked for


def token_log_probabilities(
    model: GPT | Recurrent,
    ids: Tensor,
    mask: Tensor | None = None,
    *,
    temperature: float | int = 1.0,
) -> Float[Tensor, "B S"]:
    """Log-probability of each token of a text, given those before it.

    Implements eq-gen-text::

        out[b, t] = log p(ids[b, t + 1] | ids[b, 0] … ids[b, t])   with p = softmax(logits / T)

    It is the distribution that :func:`generate` draws from at the same temperature, without
    truncation, penalties or constraint. Neither other rows nor padding change a number. The
    model is in evaluation mode meanwhile: dropout would be another model than the one that
    writes.

    Where gradients are recorded (``torch.is_grad_enabled()`` and a parameter that wants one)
    the text is read at once, and the result can be differentiated. Under ``torch.no_grad()``
    it is read in pieces through the cache, so that the logits of a long text are never held
    together.

    Args:
        model: The language model.
        ids: Texts (B, T), int64, T at least 2.
        mask: True where a token is real, (B, T); padding may be anywhere. None = all are.
        temperature: Divides the logits; above 0.

    Returns:
        (B, T - 1) [nats], for each token but the first; exactly 0 at padding, and at the first
        real token of a row, which has nothing before it.

    Raises:
        InputError: If a row has fewer than two real tokens, a text is longer than the context,
            an id is outside the vocabulary, the mask does not fit, the temperature is not
            positive or 0 in the format of the logits, or a logit is NaN.
        InputTypeError: If the ids are not int64, the mask is not bool, or the model is none.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[84, 111, 32]])
        >>> logp = model(ids).log_softmax(-1)
        >>> found = token_log_probabilities(model, ids)
        >>> torch.allclose(found, logp[:, :-1].gather(-1, ids[:, 1:, None])[..., 0], atol=1e-5)
        True
    """
    _require_model(model)
    _require_texts(ids, mask)
    require_device("ids are", ids, next(model.parameters()).device)
    require_token_ids(ids, model.config.vocab_size)
    if mask is None:
        return _log_probabilities(model, ids[:, :-1], None, ids[:, 1:], temperature)
    places = torch.arange(ids.shape[1] - 1, device=ids.device) * mask[:, :-1]
    before = places.cummax(1).values  # the last real place in front of each token
    wanted = mask[:, 1:] & (mask.cumsum(1)[:, :-1] > 0)
    row, place = wanted.nonzero(as_tuple=True)
    targets = torch.full_like(places, IGNORED)
    targets[row, before[row, place]] = ids[:, 1:][row, place]
    logp = _log_probabilities(model, ids[:, :-1], mask[:, :-1], targets, temperature)
    return logp.gather(1, before).masked_fill(~wanted, 0.0)


def score(
    model: GPT | Recurrent,
    prompt: Tensor | Sequence[Tensor],
    completions: Sequence[Tensor],
    *,
    temperature: float | int = 1.0,
) -> list[Tensor]:
    """Log-probabilities of the tokens of completions, each given its prompt.

    Implements eq-gen-score::

        out[i][t] = log p(completion_i[t] | prompt_i, completion_i[0] … completion_i[t - 1])

    The sum of ``out[i]`` is the log-probability with which :func:`generate`, at the same
    temperature, writes completion i. Gradients pass as in :func:`token_log_probabilities`.

    Args:
        model: The language model.
        prompt: Ids (T,), int64, before all completions; or one such tensor for each.
        completions: Ids (n,), int64, of any lengths, at least one each.
        temperature: Divides the logits; above 0.

    Returns:
        A tensor (n,) for each completion [nats].

    Raises:
        InputError: If there are no completions, their number is not that of the prompts, one of
            either is empty, or as in :func:`token_log_probabilities`.
        InputTypeError: If ids are not int64, or texts are no tensors.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> answers = [torch.tensor([111]), torch.tensor([104, 101])]
        >>> logp = score(GPT(GPTConfig(**sizes)), torch.tensor([84]), answers)
        >>> [len(row) for row in logp]
        [1, 2]
    """
    _require_model(model)
    completions = _texts("completions", completions)
    if isinstance(prompt, Tensor):
        prompts = [prompt] * len(completions)
    else:
        prompts = _texts("prompt", prompt)
    _require_pairs(prompts, completions, next(model.parameters()).device)
    ids, real, targets = pad_documents(
        [torch.cat(pair) for pair in zip(prompts, completions, strict=True)]
    )
    whole = torch.cat((ids[:, :1], targets.masked_fill(~real, 0)), 1)
    require_token_ids(whole, model.config.vocab_size)
    starts = [len(p) - 1 for p in prompts]
    read = torch.arange(ids.shape[1], device=ids.device)
    of_prompt = read < torch.tensor(starts, device=ids.device)[:, None]
    targets = targets.masked_fill(of_prompt, IGNORED)
    logp = _log_probabilities(model, ids, None, targets, temperature)  # none sees its padding
    return [row[i : i + len(c)] for row, i, c in zip(logp, starts, completions, strict=True)]


def _log_probabilities(
    model: GPT | Recurrent,
    ids: Tensor,
    mask: Tensor | None,
    targets: Tensor,
    temperature: float | int,
) -> Float[Tensor, "B T"]:
    """Log-probability of each target behind its token; 0 where there is no target."""
    _require_fit(model, ids, temperature)
    with evaluating(model):
        if torch.is_grad_enabled() and any(p.requires_grad for p in model.parameters()):
            return _pick(model(ids, mask=mask), targets, temperature)
        reader = IncrementalReader(model, len(ids), ids.shape[1])
        size = max(1, LOGITS // (len(ids) * model.config.vocab_size))
        pieces = []
        for start in range(0, ids.shape[1], size):
            part = (slice(None), slice(start, start + size))
            real = None if mask is None else mask[part]
            logits = reader.read(ids[part], real, last=False)
            pieces.append(_pick(logits, targets[part], temperature))
        return torch.cat(pieces, 1)


def _pick(
    logits: Float[Tensor, "B T V"], targets: Tensor, temperature: float | int
) -> Float[Tensor, "B T"]:
    logits = logits.float() if logits.itemsize < 4 else logits
    if temperature != 1:
        _require_divisor(temperature, logits.dtype)
        logits = (logits - logits.detach().amax(-1, keepdim=True)) / temperature
    logp = 0.0 - token_cross_entropy(logits, targets)
    if logp.isnan().any():
        row, place = logp.isnan().nonzero()[0].tolist()
        raise InputError(
            f"the log-probability of token {place + 1} of row {row} is NaN: the model's logits "
            "are not finite there"
        )
    return logp


def _require_texts(ids: Tensor, mask: Tensor | None) -> None:
    if not isinstance(ids, Tensor):
        raise InputTypeError(f"ids are a {type(ids).__name__}: give a tensor of token ids")
    if ids.ndim != 2 or ids.shape[0] == 0 or ids.shape[1] < 2:
        raise InputError(
            f"ids have shape {tuple(ids.shape)}: give (batch, tokens), 2 tokens or more, one "
            "to read and one to predict"
        )
    if mask is None:
        return
    require_mask(mask, ids)
    real = mask.sum(1)
    if int(real.min()) < 2:
        row = int((real < 2).nonzero()[0])
        raise InputError(
            f"row {row} has {int(real[row])} real tokens; it needs 2, one to read and one to "
            "predict"
        )


def _texts(name: str, texts: Sequence[Tensor]) -> list[Tensor]:
    try:
        return list(texts)
    except TypeError:
        found = "None" if texts is None else f"a {type(texts).__name__}"
        raise InputTypeError(
            f"{name} is {found}: give a tensor (tokens,) for each text"
        ) from None


def _require_pairs(
    prompts: list[Tensor], completions: list[Tensor], device: torch.device
) -> None:
    if not completions:
        raise InputError("no completions: there is nothing to score")
    if len(prompts) != len(completions):
        raise InputError(
            f"{len(prompts)} prompts for {len(completions)} completions: give one prompt for "
            "all, or one for each"
        )
    for name, texts in (("prompt", prompts), ("completion", completions)):
        for i, x in enumerate(texts):
            if not isinstance(x, Tensor) or x.dtype != torch.int64:
                found = x.dtype if isinstance(x, Tensor) else type(x).__name__
                raise InputTypeError(f"{name} {i} must be a tensor of int64, got {found}")
            if x.ndim != 1 or len(x) == 0:
                raise InputError(
                    f"{name} {i} has shape {tuple(x.shape)}: give (tokens,), 1 or more"
                )
            require_device(f"{name} {i} is", x, device)


def _require_model(model: GPT | Recurrent) -> None:
    if not isinstance(model, GPT | Recurrent):
        raise InputTypeError(f"model is a {type(model).__name__}: give a GPT or a Recurrent")


def _require_divisor(temperature: float | int, dtype: torch.dtype) -> None:
    smallest = torch.finfo(dtype).tiny
    if temperature < smallest:
        raise InputError(
            f"temperature={temperature} is 0 in {dtype}: give at least {smallest:.2g}"
        )


def _require_fit(model: GPT | Recurrent, ids: Tensor, temperature: float | int) -> None:
    if not isinstance(temperature, Real):
        raise InputTypeError(f"temperature={temperature!r} must be a number")
    if not 0 < temperature < math.inf:
        raise InputError(
            f"temperature={temperature} must be positive and finite: at 0 every token but the "
            "likeliest has probability 0"
        )
    context = model.config.context
    if context is not None and ids.shape[1] > context:
        raise InputError(
            f"a text of {ids.shape[1] + 1} tokens has {ids.shape[1]} before its last, more "
            f"than the context {context}: cut it, or use functional.strided_likelihood"
        )

"""Causal tracing by activation patching: which values carry what two prompts differ in."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..layers import AlibiPosition, RelativePosition, RotaryPosition, Taps
from ..models import GPT
from ..models.gpt_config import require_no_variant
from ..shapes import Float
from .lens import require_stream, streams_of
from .patching import whole_numbers
from .recording import Watched, record
from .steering import require_unsteered


def resumed(
    model: GPT, x: Float[Tensor, "B T D"], layer: int, taps: Taps | None = None
) -> Float[Tensor, "B T V"]:
    """Logits from the stream in front of block ``layer``, which alone is given the taps."""
    attend = attend_terms(model, x.shape[1])
    for i, block in enumerate(model.blocks[layer:]):
        x = block(x, taps=None if i else taps, **attend)
    return model.head(model.final_norm(x))


def attend_terms(model: GPT, length: int) -> dict[str, Any]:
    """What attention needs to know of the positions of a text without padding."""
    require_unsteered(model)
    require_no_variant(model.config, "a forward pass resumed from the stream")
    if model.virtual is not None:
        raise InputError(
            "the model has a prefix or a prompt before every text: remove_adapters(model) "
            "takes it away"
        )
    places = torch.arange(length, device=next(model.parameters()).device)
    if isinstance(model.position, RotaryPosition):
        return {"rotation": model.position(places)}
    if isinstance(model.position, AlibiPosition | RelativePosition):
        return {"bias": model.position(places, places)}
    return {}


def require_pairs(clean_ids: Tensor, corrupt_ids: Tensor) -> None:
    """Refuse prompts whose tokens do not stand opposite each other."""
    for ids in (clean_ids, corrupt_ids):
        if not isinstance(ids, Tensor):
            raise InputTypeError(f"ids must be a tensor (B, T), got {type(ids).__name__}")
    if clean_ids.shape != corrupt_ids.shape or clean_ids.ndim != 2:
        raise InputError(
            f"clean_ids {tuple(clean_ids.shape)} and corrupt_ids {tuple(corrupt_ids.shape)} "
            "must both be (B, T): a value is put in the place of the one at the same position, "
            "so a pair of prompts must have as many tokens"
        )


BY_POSITION = ("resid_pre", "attention_out", "resid_mid", "feed_forward_out", "resid_post")
BY_HEAD = ("attention.q", "attention.k", "attention.v", "attention.weights", "attention.heads")
AT_ONCE = 512  # tokens, as logits are large
Metric = Callable[[Tensor], Tensor]


@torch.no_grad()
def activation_patching(
    model: nn.Module,
    clean_ids: Tensor,
    corrupt_ids: Tensor,
    metric: Metric,
    site: str = "resid_pre",
    layers: Sequence[int] | None = None,
) -> Float[Tensor, "layers places"]:
    """Activation patching: what a run says with one value replaced by that of a clean run.

    Computes::

        table[i, j] = metric(model(corrupt_ids) with site i, j from model(clean_ids))

    each as :func:`patch` with :class:`At` gives it; the blocks below are computed once, many
    places together, and positions in front of the first token that differs not at all, since
    nothing differs there. Places are the positions of a value of the stream, or the heads of a
    value of attention, at all positions. See :func:`recovered` for the share of the difference
    that is brought back.

    Args:
        model: A GPT.
        clean_ids: Prompts (B, T) whose answer is looked for.
        corrupt_ids: Prompts with another answer, token by token opposite to the clean ones.
        metric: From logits (B, T, V) one number, or one for each row, of which the mean is
            taken; such as the logit of one token less that of another at the last position.
        site: By position ``resid_pre``, ``attention_out``, ``resid_mid``, ``feed_forward_out``
            or ``resid_post``; by head ``attention.heads``, ``attention.q``, ``attention.k``,
            ``attention.v`` or ``attention.weights``.
        layers: Counted from 0; None = all.

    Returns:
        The metric by layer and position, (layers, T), or by layer and head, (layers, H).

    Raises:
        InputTypeError: If the model is not a GPT, or ids or a metric are no tensors.
        InputError: If the site is not known, there is no such layer, the prompts differ in
            length, the model is steered or has a prefix, or the metric is not one finite
            number, or one a row.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> clean, corrupt = torch.tensor([[72, 105, 33]]), torch.tensor([[72, 111, 33]])
        >>> def metric(logits):  # what the last position says for one token, less another
        ...     return logits[:, -1, 65] - logits[:, -1, 66]
        >>> activation_patching(GPT(GPTConfig(**sizes)), clean, corrupt, metric).shape
        torch.Size([2, 3])

    References:
        Vig et al. (2020), arXiv:2004.12265, section 3.
        Meng et al. (2022), arXiv:2202.05262, section 2.
    """
    gpt = require_stream(model)
    require_pairs(clean_ids, corrupt_ids)
    picked = require_layers(gpt, layers)
    if site not in BY_POSITION + BY_HEAD:
        raise InputError(f"site={site!r} is not one of {', '.join(BY_POSITION + BY_HEAD)}")
    clean, streams = record(gpt, clean_ids), streams_of(gpt, corrupt_ids)
    alike = shared_start(clean_ids, corrupt_ids) if site in BY_POSITION else 0
    unchanged = [measured(metric, gpt(corrupt_ids))] * alike
    rows = []
    for i in picked:
        other = clean[f"blocks.{i}.{site}"]
        found = patched_layer(gpt, streams[i], other, i, site, metric, alike)
        rows.append(torch.stack(unchanged + found))
    return torch.stack(rows)


def shared_start(clean_ids: Tensor, corrupt_ids: Tensor) -> int:
    """Positions in front of the first that differs: a causal model holds the same in both."""
    different = (clean_ids != corrupt_ids).any(0).nonzero()
    return int(different[0]) if len(different) else clean_ids.shape[1]


def recovered(
    patched: Tensor | float | int, clean: Tensor | float | int, corrupt: Tensor | float | int
) -> Any:
    """Causal tracing: share of the difference between two runs that patching brings back.

    Implements eq-interp-recovered::

        (patched - corrupt) / (clean - corrupt)

    Args:
        patched: Metric with patched values, such as the table of :func:`activation_patching`.
        clean: Metric of the clean run.
        corrupt: Metric of the other.

    Returns:
        0 where nothing is brought back, 1 where all is; below 0 or above 1 where a value
        pushes the other way, or farther than the clean run.

    Raises:
        InputError: If the two runs do not differ, or not by a finite number, or are not one
            number each, or a patched number is not finite.
        InputTypeError: If what is given are no numbers.

    Example:
        >>> recovered(patched=1.0, clean=3.0, corrupt=-1.0)
        0.5
    """
    whole, none = one_number(clean), one_number(corrupt)
    numbers = patched if isinstance(patched, Tensor) else torch.tensor(one_number(patched))
    if not numbers.isfinite().all():
        raise InputError("patched holds NaN or infinite numbers: expected finite ones")
    difference = whole - none
    if not math.isfinite(difference) or difference == 0.0:
        raise InputError(
            f"the metric is {whole:g} in the clean run and {none:g} in the "
            "other: there is no difference of which a share could be brought back"
        )
    return (patched - none) / difference


def one_number(value: Tensor | float | int) -> float:
    """A metric of one run, as a number."""
    if not isinstance(value, Tensor | Real):
        raise InputTypeError(f"a metric is a {type(value).__name__}: expected a number")
    if not isinstance(value, Tensor):
        return float(value)
    if value.numel() != 1:
        raise InputError(
            f"the metric of a run is {tuple(value.shape)}, expected one number: take the mean "
            "of the rows, as the table does"
        )
    return value.detach().item()


def patched_layer(
    model: GPT, x: Tensor, other: Tensor, layer: int, site: str, metric: Metric, first: int
) -> list[Tensor]:
    """Activation patching of one layer: the metric with each place patched in turn."""
    B, T, _ = x.shape
    size = T if site in BY_POSITION else other.shape[1]
    found: list[Tensor] = []
    if first == size:
        return found
    for places in torch.arange(first, size).split(max(1, AT_ONCE // (B * T))):
        here = torch.eye(size, dtype=torch.bool, device=x.device)[places]  # (P, places)
        here = here.repeat_interleave(B, 0)[:, :, None]
        rows, P = here if site in BY_POSITION else here.unsqueeze(-1), len(places)

        def swap(name: str, value: Tensor, rows: Tensor = rows, P: int = P) -> Tensor:
            if name != site:
                return value
            return torch.where(rows, other.repeat(P, *[1] * (other.ndim - 1)), value)

        logits = resumed(model, x.repeat(P, 1, 1), layer, Watched(swap))
        found += [measured(metric, part) for part in logits.split(B)]
    return found


def measured(metric: Metric, logits: Tensor) -> Tensor:
    """What a metric says, as one finite number."""
    found = metric(logits)
    if not isinstance(found, Tensor):
        raise InputTypeError(
            f"metric gives a {type(found).__name__}: expected a tensor, one number or one a row"
        )
    if found.shape not in ((), logits.shape[:1]):
        raise InputError(
            f"metric gives {tuple(found.shape)} of logits {tuple(logits.shape)}: expected one "
            f"number, or one a row, {tuple(logits.shape[:1])}"
        )
    number = found.to(logits.dtype).mean()  # also of what is true or false
    if not number.isfinite():
        raise InputError(f"metric gives {number.item()}: expected finite numbers")
    return number


def require_layers(model: GPT, layers: Sequence[int] | None) -> list[int]:
    """The layers that are asked for, if the model has them."""
    L = model.config.n_layers
    picked = [*range(L)] if layers is None else whole_numbers("layers", "layer", layers)
    if not picked or not all(layer in range(L) for layer in picked):
        raise InputError(f"layers={picked} must be some of 0 to {L - 1}")
    return picked

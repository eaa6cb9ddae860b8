"""How much each token, or each value inside, has to do with a number that a model computes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..shapes import Float
from .recording import Watched, call, record

Metric = Callable[[Tensor], Tensor]  # output of the model (B, ...) to one number a row, (B,)
TOGETHER = 8  # points of the way in one pass


@dataclass(frozen=True, eq=False)
class PathAttribution:
    """Integrated gradients of a number, and by how much they miss what they must add up to.

    Attributes:
        scores: One number a token, (B, T).
        value: The number for the text itself, (B,).
        baseline: The number for the baseline, (B,).
    """

    scores: Tensor
    value: Tensor
    baseline: Tensor

    @property
    def gap(self) -> Tensor:
        """Sum of the scores, less the difference that they explain, (B,)."""
        return self.scores.sum(-1) - (self.value - self.baseline)


def tap_gradients(
    model: nn.Module,
    ids: Tensor,
    metric: Metric,
    names: Sequence[str],
    mask: Tensor | None = None,
) -> dict[str, tuple[Tensor, Tensor]]:
    """Values inside a model, and the gradient of a number of its output in each of them.

    One pass forward and one back. The parameters get no gradient.

    Args:
        model: As in :func:`mathlm.interpret.record`.
        ids: Token ids (B, T).
        metric: Of the output, such as logits (B, T, V): one number a row, (B,). Rows must not
            mix.
        names: Of taps.
        mask: Of the model; None = every token is real.

    Returns:
        Value and gradient, of the same shape, under each name.

    Raises:
        InputError: If the model has no such tap, the metric is not one finite number a row, or
            does not depend on one of the values.
        InputTypeError: As :func:`mathlm.interpret.record`, or if names are one text.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> def metric(logits):  # what the last position says for one token
        ...     return logits[:, -1, 65]
        >>> name, ids = "blocks.0.resid_post", torch.tensor([[72, 105]])
        >>> value, gradient = tap_gradients(GPT(GPTConfig(**sizes)), ids, metric, [name])[name]
        >>> value.shape, gradient.shape
        (torch.Size([1, 2, 16]), torch.Size([1, 2, 16]))
    """
    if isinstance(names, str):
        raise InputTypeError(f"names={names!r} is one name: give a list of names")
    names = [*names]
    kept: dict[str, Tensor] = {}
    seen: list[str] = []

    def watch(name: str, value: Tensor) -> Tensor:
        seen.append(name)
        if name == "embedding":  # the parameters stay out of it
            value = value.detach().requires_grad_()
        if name in names:
            kept[name] = value
        return value

    with torch.inference_mode(False), torch.enable_grad():
        output = call(model, usable(ids), usable(mask), Watched(watch))
        numbers = measured(metric, output, len(ids))
        require_taps(names, seen)
        found = torch.autograd.grad(numbers.sum(), [*kept.values()], allow_unused=True)
    pairs = {
        n: (kept[n].detach(), g) for n, g in zip(kept, found, strict=True) if g is not None
    }
    if without := [name for name in kept if name not in pairs]:
        raise InputError(f"the metric does not depend on {', '.join(without)}")
    return {name: pairs[name] for name in names}


def gradient_times_input(
    model: nn.Module, ids: Tensor, metric: Metric, mask: Tensor | None = None
) -> Float[Tensor, "B T"]:
    """How fast a number changes as the vector of each token grows.

    Implements eq-interp-gradient::

        score_t = x_t · ∂metric / ∂x_t

    x_t is the embedding of token t. A first-order guess of what the number would lose if the
    vector were taken away; where the number is not linear in it the guess is wrong.

    Args:
        model: As in :func:`mathlm.interpret.record`.
        ids: Token ids (B, T).
        metric: As in :func:`tap_gradients`.
        mask: Of the model; None = every token is real.

    Returns:
        One number a token, in the unit of the metric.

    Raises:
        InputError, InputTypeError: As :func:`tap_gradients`.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> def metric(logits):  # what the last position says for one token
        ...     return logits[:, -1, 65]
        >>> gradient_times_input(model, ids, metric).shape
        torch.Size([1, 2])

    References:
        Shrikumar et al. (2017), arXiv:1704.02685, section 2.
    """
    value, gradient = tap_gradients(model, ids, metric, ["embedding"], mask)["embedding"]
    return (value * gradient).sum(-1)


def swap_estimates(
    model: nn.Module,
    ids: Tensor,
    metric: Metric,
    other: Mapping[str, Tensor],
    mask: Tensor | None = None,
) -> dict[str, Tensor]:
    """What a number would change by if a value were another run's, to first order.

    Implements eq-interp-swap::

        (o - a) ⊙ ∂metric / ∂a

    a is the value of this run and o that of the other. Summed over some entries it estimates
    what patching just these would do, for all values of a model at the price of one pass back.

    Args:
        model: As in :func:`mathlm.interpret.record`.
        ids: Token ids (B, T).
        metric: As in :func:`tap_gradients`.
        other: Values of the other run by name, such as from :func:`mathlm.interpret.record`.
        mask: Of the model; None = every token is real.

    Returns:
        One number an entry, under each name of ``other``.

    Raises:
        InputError: As :func:`tap_gradients`, or if a value has another shape than in this run
            or is not finite.
        InputTypeError: As :func:`tap_gradients`, or if a value is no tensor, has no name, or
            is of another dtype or on another device than in this run.

    Example:
        >>> from mathlm.interpret import record
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> def metric(logits):  # what the last position says for one token
        ...     return logits[:, -1, 65]
        >>> same = {"blocks.0.resid_post": record(model, ids)["blocks.0.resid_post"]}
        >>> float(swap_estimates(model, ids, metric, same)["blocks.0.resid_post"].abs().max())
        0.0

    References:
        Nanda (2023), Attribution patching.
        Syed et al. (2023), arXiv:2310.10348, section 3.
    """
    if not isinstance(other, Mapping):
        raise InputTypeError(f"other is a {type(other).__name__}: give a dict by name of tap")
    pairs = tap_gradients(model, ids, metric, [*other], mask)
    for name, (value, _) in pairs.items():
        require_like(name, other[name], value)
        if value.shape != other[name].shape:
            raise InputError(
                f"{name} is {tuple(value.shape)} in this run and {tuple(other[name].shape)} in "
                "the other: the two texts must be equally long"
            )
    return {name: (other[name] - value) * slope for name, (value, slope) in pairs.items()}


def integrated_gradients(
    model: nn.Module,
    ids: Tensor,
    metric: Metric,
    baseline: Tensor,
    *,
    steps: int = 32,
    tolerance: float | int | None = 0.05,
    mask: Tensor | None = None,
) -> PathAttribution:
    """Share of each token in what changes on the straight way from a baseline to a text.

    Implements eq-interp-integrated::

        score_t = (x_t - b_t) · ∫₀¹ ∂metric/∂x_t (b + α (x - b)) dα
        Σ_t score_t = metric(x) - metric(b)

    with the midpoint rule. x are the embeddings of the text, b those of the baseline. The
    second line (completeness) holds for the integral; how far the sum misses it is the gap.

    Args:
        model: As in :func:`mathlm.interpret.record`.
        ids: Token ids (B, T).
        metric: As in :func:`tap_gradients`.
        baseline: Ids of another text (B, T), or vectors that broadcast to (B, T, D), such as a
            zero.
        steps: Points of the way, 1 or more.
        tolerance: Largest gap as a share of metric(x) - metric(b); None = any.
        mask: Of the model; None = every token is real.

    Returns:
        Scores, both ends and the gap.

    Raises:
        InputError: As :func:`tap_gradients`; if the baseline does not fit; or if the gap of a
            row is larger than the tolerance, or nothing changes from end to end.
        InputTypeError: As :func:`tap_gradients`.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> def metric(logits):  # what the last position says for one token
        ...     return logits[:, -1, 65]
        >>> integrated_gradients(model, ids, metric, torch.tensor([[66, 111]])).scores.shape
        torch.Size([1, 2])

    References:
        Sundararajan et al. (2017), arXiv:1703.01365, sections 3 and 5.
    """
    if not isinstance(steps, int) or steps < 1:
        raise InputError(f"steps={steps} must be a whole number, 1 or more")
    if tolerance is not None and not tolerance >= 0:
        raise InputError(f"tolerance={tolerance} must be 0 or more, or None")
    taps = record(model, ids, mask)
    require_taps(["embedding"], [*taps])
    end = taps["embedding"]
    start = baseline_vectors(model, baseline, end, mask)
    way, total = end - start, torch.zeros_like(end)
    for some in ((torch.arange(steps) + 0.5) / steps).to(end).split(TOGETHER):
        total += placed(model, ids, metric, start + some.view(-1, 1, 1, 1) * way, mask)[1].sum(
            0
        )
    (first, last), _ = placed(model, ids, metric, torch.stack([start, end]), mask)
    found = PathAttribution((way * total).sum(-1) / steps, last, first)
    if tolerance is not None:
        require_closed(found, steps, tolerance)
    return found


def placed(
    model: nn.Module, ids: Tensor, metric: Metric, points: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The metric (n, B) and its gradient, with vectors (n, B, T, D) for the embeddings."""
    n, B = points.shape[:2]
    with torch.inference_mode(False), torch.enable_grad():
        x = usable(points.detach()).flatten(0, 1).requires_grad_()
        taps = Watched(lambda name, value: x if name == "embedding" else value)
        rows = None if mask is None else mask.repeat(n, *(1,) * (mask.ndim - 1))
        output = call(model, ids.repeat(n, 1), rows, taps)
        numbers = torch.stack([measured(metric, part, B) for part in output.split(B)])
        (slope,) = torch.autograd.grad(numbers.sum(), x)
    return numbers.detach(), slope.unflatten(0, (n, B))


def usable(value: Any) -> Any:
    """The value; of a tensor from ``torch.inference_mode`` a copy that a gradient can use."""
    return value.clone() if isinstance(value, Tensor) and value.is_inference() else value


def baseline_vectors(
    model: nn.Module, baseline: Tensor, end: Tensor, mask: Tensor | None
) -> Tensor:
    """The vectors (B, T, D) at which the way starts."""
    if not isinstance(baseline, Tensor):
        raise InputTypeError(
            f"baseline is a {type(baseline).__name__}: expected a tensor, ids or vectors"
        )
    if not baseline.is_floating_point():
        if baseline.shape != end.shape[:2]:
            raise InputError(
                f"the baseline has ids {tuple(baseline.shape)} and the text "
                f"{tuple(end.shape[:2])}: they must be equally long"
            )
        return record(model, baseline, mask)["embedding"]
    try:
        return baseline.to(end).expand_as(end)
    except RuntimeError as error:
        raise InputError(
            f"baseline {tuple(baseline.shape)} does not broadcast to {tuple(end.shape)}"
        ) from error


def measured(metric: Metric, output: Tensor, rows: int) -> Tensor:
    """The numbers of a metric, one a row; refuse anything else."""
    numbers = metric(output)
    if not isinstance(numbers, Tensor) or numbers.shape != (rows,):
        found = tuple(numbers.shape) if isinstance(numbers, Tensor) else type(numbers).__name__
        raise InputError(f"the metric must be one number a row, ({rows},), got {found}")
    if not numbers.requires_grad:
        raise InputTypeError("the metric has no gradient: compute it with torch, undetached")
    if not numbers.isfinite().all():
        raise InputError(f"the metric is {numbers.tolist()}: every row must be finite")
    return numbers


def require_taps(names: Sequence[str], seen: Sequence[str]) -> None:
    """Refuse names that the model did not fill."""
    if not names:
        raise InputError("no tap is named: give at least one")
    if missing := [name for name in names if name not in seen]:
        near = get_close_matches(missing[0], seen) or seen[:3]
        raise InputError(f"there is no tap {missing[0]!r}; near are {', '.join(near)}")


def require_like(name: str, value: Tensor, own: Tensor) -> None:
    """Refuse what is no value of a run of the same model."""
    if not isinstance(value, Tensor):
        raise InputTypeError(f"other[{name!r}] is a {type(value).__name__}, expected a tensor")
    if (value.dtype, value.device) != (own.dtype, own.device):
        raise InputTypeError(
            f"other[{name!r}] is {value.dtype} on {value.device}, in this run it is "
            f"{own.dtype} on {own.device}"
        )
    if bad := int((~value.isfinite()).sum()):
        raise InputError(f"other[{name!r}] holds {bad} NaN or infinite numbers")


def require_closed(found: PathAttribution, steps: int, tolerance: float | int) -> None:
    """Refuse scores that do not add up to what they explain."""
    change = found.value - found.baseline
    largest = torch.maximum(found.value.abs(), found.baseline.abs())
    # two passes over the same numbers may differ in the last bits: that is no change
    change = change.where(change.abs() > 16 * torch.finfo(change.dtype).eps * largest, 0.0)
    off = found.gap.abs() / change.abs()  # 0/0 is NaN, and refused
    if not (off <= tolerance).all():
        row = int(off.nan_to_num(torch.inf).argmax())
        raise InputError(
            f"row {row}: scores sum to {found.scores[row].sum():.4g}, the metric changes by "
            f"{change[row]:.4g}, with {steps} steps. More steps close the gap if the metric is "
            "smooth on the way; from a zero baseline a normalized model is not"
        )

"""Cross-entropy of predicted tokens."""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float
from .tokens import require_token_ids


def token_cross_entropy(
    logits: Float[Tensor, "*batch V"],
    targets: Tensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Float[Tensor, " V"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Surprise of each target under the predicted distribution.

    Computes::

        ℓ = -(1 - ε) w[y] log p[y] - (ε / V) Σ_c w[c] log p[c],   log p = log_softmax(logits)

    Half-precision logits are taken in float32.

    Args:
        logits: Unnormalized log-probabilities.
        targets: Token ids y of shape ``batch``, or ``ignore_index`` where nothing is predicted.
        ignore_index: Mark of a position that does not count.
        label_smoothing: Share ε of the target spread evenly over the vocabulary.
        weight: Weight w of each token of the vocabulary; None = 1.

    Returns:
        ℓ [nats] for each target; exactly 0 where ``targets`` is ``ignore_index``.

    Raises:
        InputError: If the shapes do not fit, a target is outside the vocabulary, or
            ``label_smoothing`` is outside 0..1.
        InputTypeError: If the targets are not int64.

    Example:
        >>> logits = torch.tensor([[1.0, 3.0]]).log()
        >>> token_cross_entropy(logits, torch.tensor([0]))  # ln 4
        tensor([1.3863])
    """
    _require_targets(logits, targets, ignore_index, label_smoothing)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    weight = None if weight is None else weight.to(logits.dtype)
    loss = F.cross_entropy(
        logits.flatten(0, -2),
        targets.flatten(),
        weight=weight,
        ignore_index=ignore_index,
        label_smoothing=label_smoothing,
        reduction="none",
    )
    return loss.view(targets.shape)


def cross_entropy(
    logits: Float[Tensor, "*batch V"],
    targets: Tensor,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    weight: Float[Tensor, " V"] | None = None,
    empty: Literal["error", "zero"] = "error",
) -> tuple[Float[Tensor, ""], int | float]:
    """Surprise summed over the targets, and how many there are.

    Computes::

        (Σ ℓ, number of targets)   with ℓ of token_cross_entropy; with weights, (Σ ℓ, Σ w[y])

    The mean is left to the caller, who may have more targets in other batches or on other
    devices. Positions that do not count change nothing, in no digit.

    Args:
        logits: Unnormalized log-probabilities.
        targets: Token ids of shape ``batch``, or ``ignore_index``.
        ignore_index: Mark of a position that does not count.
        label_smoothing: Share of the target spread evenly over the vocabulary.
        weight: Weight of each token of the vocabulary; None = 1.
        empty: What to do when no target counts: an error, or (0, 0) with gradient 0.

    Returns:
        Loss [nats], summed over targets; and their number, or the sum of their weights.

    Raises:
        InputError: As :func:`token_cross_entropy`, and if no target counts.

    Example:
        >>> total, count = cross_entropy(torch.zeros(3, 2), torch.tensor([0, 1, -100]))
        >>> total, count  # 2 ln 2
        (tensor(1.3863), 2)
    """
    loss = token_cross_entropy(logits, targets, ignore_index, label_smoothing, weight)
    counts = targets != ignore_index
    number = int(counts.sum())
    if number == 0 and empty == "error":
        raise InputError(
            f"no target token contributes to the loss: all {targets.numel()} targets are "
            f"{ignore_index}; drop this batch or pass empty='zero'"
        )
    if number < targets.numel():
        loss = loss[counts]  # so that ignored rows do not even change the order of the sum
    total = number if weight is None else float(weight[targets[counts]].sum())
    return loss.sum(), total


def _require_targets(
    logits: Tensor, targets: Tensor, ignore_index: int, label_smoothing: float
) -> None:
    if not logits.is_floating_point():
        raise InputTypeError(
            f"logits must be real numbers, got {str(logits.dtype).removeprefix('torch.')}: "
            "were the ids of the tokens given in their place?"
        )
    if logits.shape[:-1] != targets.shape or logits.ndim < 2:
        raise InputError(
            f"logits {tuple(logits.shape)} and targets {tuple(targets.shape)} do not fit: "
            "logits need one more axis, the vocabulary, behind those of the targets"
        )
    if not 0.0 <= label_smoothing <= 1.0:
        raise InputError(f"label_smoothing={label_smoothing} is outside 0..1")
    vocabulary = logits.shape[-1]
    if 0 <= ignore_index < vocabulary:
        raise InputError(
            f"ignore_index={ignore_index} is a token of the vocabulary of {vocabulary}; "
            "mark positions that do not count with a number outside it, such as -100"
        )
    require_token_ids(targets.masked_fill(targets == ignore_index, 0), vocabulary, "target")


def z_loss(logits: Float[Tensor, "*batch V"]) -> Float[Tensor, "*batch"]:
    """Square of the logarithm by which a softmax normalizes.

    Implements eq-z-loss::

        ℓ_z = (log Σ_c exp z_c)²,    ∂ℓ_z/∂z_c = 2 (log Σ exp z) p_c

    Its gradients sum to 2 log Σ exp z where those of a cross-entropy sum to 0: the one loss
    feels a shift of all logits, the other does not. Half-precision logits are taken in
    float32.

    Args:
        logits: Unnormalized log-probabilities z.

    Returns:
        ℓ_z [nats²], unreduced; 0 where the logits are log-probabilities already.

    Example:
        >>> z_loss(torch.zeros(1, 2))  # (ln 2)²
        tensor([0.4805])

    References:
        Chowdhery et al. (2022), arXiv:2204.02311, section 5.
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return logits.logsumexp(-1).square()


def log1mexp(x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Log of one minus a probability, from the log of the probability.

    Computes::

        log(1 - eˣ) = log(-expm1(x))    if x > -log 2
                      log1p(-exp(x))    otherwise

    Both are the same number; each is accurate where the other loses digits.

    Args:
        x: Log-probability, below 0 [nats].

    Returns:
        log(1 - eˣ) [nats].

    Raises:
        InputError: If an entry is 0 or above, where the logarithm is -∞ or none, or NaN.

    Example:
        >>> log1mexp(torch.tensor([0.5]).log())  # ln(1 - 1/2)
        tensor([-0.6931])

    References:
        Mächler (2012), Accurately computing log(1 - exp(-|a|)), the Rmpfr package, eq. (7).
    """
    if not (x < 0).all():
        wrong = x[~(x < 0)].flatten()[0].item()
        raise InputError(f"log1mexp needs x < 0, got {wrong}: log(1 - exp(x)) is not finite")
    near = torch.log(-torch.expm1(x))
    far = torch.log1p(-torch.exp(x.clamp(max=-math.log(2))))  # its gradient at 0 is infinite
    return torch.where(x > -math.log(2), near, far)

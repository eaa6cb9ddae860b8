"""Whether stated probabilities come true, for the logits of a model.

References:
    Brier (1950), Verification of forecasts expressed in terms of probability.
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599.
"""

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float, Int
from .tokens import require_token_ids

HALVINGS = 60
EXTREME = 1e6  # no temperature beyond it, in units of the logits' spread


def top_prediction(
    logits: Float[Tensor, "N V"], targets: Tensor
) -> tuple[Float[Tensor, " N"], Tensor]:
    """Probability that the model gives to its best guess, and whether the guess is right.

    Args:
        logits: Unnormalized log-probabilities, one row for each prediction.
        targets: What came, N int64.

    Returns:
        Confidence in [0, 1], and N booleans.

    Raises:
        InputError: If the shapes do not fit, or a logit is NaN or +inf.
        InputTypeError: If the targets are not int64.

    Example:
        >>> top_prediction(torch.tensor([[1.0, 3.0]]).log(), torch.tensor([0]))
        (tensor([0.7500]), tensor([False]))
    """
    require_predictions(logits, targets)
    said, guess = probabilities(logits).max(-1)
    return said.clamp(max=1), guess == targets


def reliability_bins(
    confidence: Float[Tensor, " N"], correct: Tensor, bins: int = 10
) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"], Int[Tensor, " K"]]:
    """What was said, what came true and how often, in bins of what was said.

    Computes::

        conf_k = mean of c_n,   acc_k = mean of [correct_n],   n in bin k: k/K ≤ c_n < (k+1)/K

    A confidence of 1 belongs to the last bin; empty bins are left out.

    Args:
        confidence: Stated probabilities, in [0, 1].
        correct: Whether what was stated came true, N booleans.
        bins: Number of bins of equal width, K.

    Returns:
        Mean confidence, share that came true, and count of each bin that is not empty.

    Raises:
        InputError: If there is nothing to bin, a confidence is outside [0, 1], or bins < 1.
        InputTypeError: If ``correct`` is not boolean.

    Example:
        >>> correct = torch.tensor([True, True, True, False])
        >>> said, came_true, count = reliability_bins(torch.full((4,), 0.75), correct, bins=1)
        >>> said.item(), came_true.item(), count.item()
        (0.75, 0.75, 4)
    """
    if bins < 1 or confidence.numel() == 0 or confidence.shape != correct.shape:
        raise InputError(
            f"bins={bins}, confidence {tuple(confidence.shape)}, correct "
            f"{tuple(correct.shape)}: need a bin, and two rows of one length, at least 1"
        )
    if correct.dtype != torch.bool:
        raise InputTypeError(f"correct has dtype {correct.dtype}; say True or False")
    if not bool(((confidence >= 0) & (confidence <= 1)).all()):
        raise InputError("a confidence is outside [0, 1] or NaN")
    wide = confidence.double() if confidence.dtype.itemsize == 2 else confidence
    k = (wide * bins).long().clamp(max=bins - 1)  # 16 bits round 0.699 · 10 to 7
    count = torch.bincount(k, minlength=bins)
    said, true = (
        torch.zeros(bins, dtype=torch.float64, device=k.device).index_add(0, k, x.double())
        for x in (confidence, correct)
    )
    used = count > 0
    return said[used] / count[used], true[used] / count[used], count[used]


def expected_calibration_error(
    confidence: Float[Tensor, " N"], correct: Tensor, bins: int = 10
) -> float:
    """Average gap between what was said and what came true.

    Implements eq-ece::

        ECE = Σ_k (N_k / N) |acc_k - conf_k|

    Args:
        confidence: Stated probabilities, in [0, 1].
        correct: Whether what was stated came true.
        bins: Number of bins, K; more bins raise the ECE of any finite sample.

    Returns:
        ECE, between 0 and 1.

    Raises:
        InputError, InputTypeError: As :func:`reliability_bins`.

    Example:
        >>> correct = torch.tensor([True, True, True, False])
        >>> expected_calibration_error(torch.full((4,), 0.75), correct)
        0.0
    """
    said, true, count = reliability_bins(confidence, correct, bins)
    return float((count * (true - said).abs()).sum() / count.sum())


def brier_score(logits: Float[Tensor, "N V"], targets: Tensor) -> Float[Tensor, " N"]:
    """Squared distance from the stated probabilities to what came.

    Implements eq-brier::

        B = Σ_v (p_v - [v = y])² = 1 - 2 p_y + Σ_v p_v²,   p = softmax(logits)

    Like the cross-entropy it is a proper score: its mean is least at the true probabilities.
    Unlike it, it is never above 2.

    Args:
        logits: Unnormalized log-probabilities.
        targets: What came, y, N int64.

    Returns:
        B of each prediction, in [0, 2].

    Raises:
        InputError, InputTypeError: As :func:`top_prediction`.

    Example:
        >>> brier_score(torch.zeros(1, 2), torch.tensor([0]))  # (1/2)² twice
        tensor([0.5000])
    """
    require_predictions(logits, targets)
    p = probabilities(logits)
    return 1 - 2 * p.gather(-1, targets[:, None])[:, 0] + p.square().sum(-1)


def fit_temperature(logits: Float[Tensor, "N V"], targets: Tensor) -> float:
    """Temperature that makes the targets most likely.

    Implements eq-temperature-fit::

        T = 1 / β,   mean of E_p[z] - z_y = 0   with p = softmax(β z)

    The left side grows with β, so its zero is found by halving, in double precision.

    Args:
        logits: Scores z, finite; fit on data that the model was not trained on.
        targets: What came, y, N int64.

    Returns:
        T > 0; above 1 for a model that was too sure.

    Raises:
        InputError: If the shapes do not fit, a logit is not finite, or no temperature is best:
            every target has the top score, or the targets score below average.
        InputTypeError: If the targets are not int64.

    Example:
        >>> logits = 2 * torch.tensor([[3.0, 1.0]]).log().expand(4, 2)
        >>> round(fit_temperature(logits, torch.tensor([0, 0, 0, 1])), 3)  # right 3 times in 4
        2.0
    """
    if not bool(logits.isfinite().all()):
        raise InputError("logits must be finite; give impossible outcomes a low score")
    require_predictions(logits, targets)
    z = logits.double() - logits.double().amax(-1, keepdim=True)
    z_y = z.gather(-1, targets[:, None])[:, 0]
    require_optimum(z, z_y)
    unit = -float(z.mean())  # so that the unit of the scores does not matter
    low, high = 1 / EXTREME, EXTREME
    for _ in range(HALVINGS):
        beta = (low * high) ** 0.5
        expected = ((beta / unit * z).softmax(-1) * z).sum(-1)
        low, high = (low, beta) if float((expected - z_y).mean()) > 0 else (beta, high)
    return unit / (low * high) ** 0.5


def probabilities(logits: Tensor) -> Tensor:
    """Softmax over the last axis; half precision is taken in float32."""
    half = logits.dtype in (torch.float16, torch.bfloat16)
    return (logits.float() if half else logits).softmax(-1)


def require_optimum(z: Tensor, z_y: Tensor) -> None:
    """Refuse scores whose loss falls without end as they are cooled or heated."""
    if bool((z_y == 0).all()):
        raise InputError(
            f"every one of the {len(z)} targets has the top score, so the loss falls as T goes "
            "to 0 and no temperature is best; fit on data where the model errs"
        )
    if float(z_y.mean()) <= float(z.mean()):
        raise InputError(
            f"targets score {float(z_y.mean()):.6g} on average and all outcomes "
            f"{float(z.mean()):.6g} below the top score: no temperature is best"
        )


def require_predictions(logits: Tensor, targets: Tensor) -> None:
    """Refuse what is not one row of logits for each target."""
    if logits.ndim != 2 or logits.shape[:1] != targets.shape or logits.numel() == 0:
        raise InputError(
            f"logits {tuple(logits.shape)} and targets {tuple(targets.shape)} do not fit: need "
            "(N, V) and (N,) with N >= 1; leave out positions that predict nothing"
        )
    require_token_ids(targets, logits.shape[-1])
    if bool(logits.isnan().any() | logits.isposinf().any()):
        raise InputError("a logit is NaN or +inf")

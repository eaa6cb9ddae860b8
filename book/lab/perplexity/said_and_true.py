"""What the predictions of a model are worth, as they are and at the temperature that fits."""

import math

from torch import Tensor

from mathlm.functional import (
    brier_score,
    expected_calibration_error,
    fit_temperature,
    token_cross_entropy,
    top_prediction,
)


def judge(logits: Tensor, targets: Tensor) -> dict[str, float]:
    """What the predictions are worth; the temperature is fitted to every second one.

    Returns:
        bits [bits/byte], brier, ece and share right of all; temperature; and bits and ece of
        the other half as it is (``half_...``) and at that temperature (``cooled_...``).
    """
    T = fit_temperature(logits[::2], targets[::2])
    z, y = logits[1::2], targets[1::2]
    found = measures(logits, targets) | {"temperature": T}
    found |= {f"half_{name}": x for name, x in measures(z, y).items()}
    return found | {f"cooled_{name}": x for name, x in measures(z / T, y).items()}


def measures(logits: Tensor, targets: Tensor) -> dict[str, float]:
    """Loss, Brier score, calibration error of the top guess, and share of right ones."""
    said, right = top_prediction(logits, targets)
    return {
        "bits": token_cross_entropy(logits, targets).mean().item() / math.log(2),
        "brier": brier_score(logits, targets).mean().item(),
        "ece": expected_calibration_error(said, right, bins=15),
        "said": said.mean().item(),
        "right": right.double().mean().item(),
    }

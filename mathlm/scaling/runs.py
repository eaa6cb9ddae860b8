"""Training runs as the fits of joint laws take them: logarithms, centred."""

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..shapes import Float
from .power_law import Numbers, positive, require_delta


class Runs(NamedTuple):
    """Logarithms of parameters and tokens less their means, of the losses, and the means."""

    x: Float[np.ndarray, " N"]
    y: Float[np.ndarray, " N"]
    log_loss: Float[np.ndarray, " N"]
    middles: Float[np.ndarray, " 2"]


def centred_runs(n: Numbers, d: Numbers, loss: Numbers, delta: float | int) -> Runs:
    """Check runs and centre their logarithms.

    Raises:
        InputError: If a number is not positive, the lengths differ, fewer than six runs are
            given, or parameters and tokens do not vary apart from each other.
    """
    size, tokens, losses = positive("n", n), positive("d", d), positive("loss", loss)
    require_delta(delta)
    if not len(size) == len(tokens) == len(losses) or len(size) < 6:
        raise InputError(
            f"n, d and loss have {len(size)}, {len(tokens)} and {len(losses)} numbers; "
            "expected one of each for every run, and at least 6 runs"
        )
    logs = np.log([size, tokens])
    middles = logs.mean(1)
    x, y = logs - middles[:, None]
    if min(np.ptp(x), np.ptp(y)) == 0 or abs(np.corrcoef(x, y)[0, 1]) > 1 - 1e-9:
        raise InputError("n and d must both vary, and not in one fixed relation to each other")
    return Runs(x, y, np.log(losses), middles)

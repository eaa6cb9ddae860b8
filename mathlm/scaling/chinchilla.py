"""The additive law: how loss falls with parameters and tokens together."""

import itertools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..checks import require_positive
from ..errors import InputError
from ..shapes import Float
from .fitting import (
    LogSum,
    constant,
    expanded_ends,
    least_minimum,
    minimise,
    require_minimum,
    resampled,
)
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


NAMES = ("A", "B", "E", "alpha", "beta")


@dataclass(frozen=True, kw_only=True)
class ChinchillaLaw:
    """``loss = E + A / N^alpha + B / D^beta``, in the letters of the paper.

    Attributes:
        A: Factor of the term of the parameters.
        B: Factor of the term of the tokens.
        E: Loss that neither takes away [nats].
        alpha: Exponent of the parameters.
        beta: Exponent of the tokens.
        huber: Huber loss of the fit, summed over the runs; 0 for a law that was not fitted.

    Example:
        >>> law = ChinchillaLaw(A=400.0, B=400.0, E=1.5, alpha=0.5, beta=0.5)
        >>> law.loss([1e8], [1e8])  # 1.5 + 0.04 + 0.04
        array([1.58])
    """

    A: float | int
    B: float | int
    E: float | int
    alpha: float | int
    beta: float | int
    huber: float | int = 0.0

    def __post_init__(self) -> None:
        require_positive(A=self.A, B=self.B, E=self.E, alpha=self.alpha, beta=self.beta)

    def loss(self, n: Numbers, d: Numbers) -> Float[np.ndarray, " N"]:
        """Loss of models of so many parameters on so many tokens [nats].

        Implements eq-scaling-chinchilla::

            E + A / N^α + B / D^β
        """
        size, tokens = positive("n", n), positive("d", d)
        return self.E + self.A * size**-self.alpha + self.B * tokens**-self.beta


Triple = tuple[np.ndarray, np.ndarray, np.ndarray]


def copied(*rows: Numbers) -> Any:
    """Rows of numbers that no later change of the given ones reaches."""
    return tuple(np.array(row, dtype=float) for row in rows)


@dataclass(frozen=True, kw_only=True)
class ChinchillaFit(ChinchillaLaw):
    """The law that :func:`fit_chinchilla` found, and what it was fitted to.

    Attributes:
        runs: Parameters, tokens and losses [nats] of the runs.
        delta: Residual at which squares turned to absolute values [nats].
    """

    runs: Triple = field(repr=False, compare=False)
    delta: float | int

    def intervals(
        self, *, level: float | int = 0.95, resamples: int = 400, seed: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Intervals of the constants and the share: :func:`chinchilla_intervals` of the runs.

        Args:
            level: Of the intervals.
            resamples: How many times the runs are drawn.
            seed: Of the draws.

        Returns:
            Low and high end by name.

        Raises:
            InputError: As that function.
        """
        return chinchilla_intervals(
            *self.runs,
            self,
            delta=self.delta,
            level=level,
            resamples=resamples,
            seed=seed,
        )


def fit_chinchilla(
    n: Numbers,
    d: Numbers,
    loss: Numbers,
    *,
    delta: float | int = 1e-3,
    scale: float | int = 1.0,
) -> ChinchillaFit:
    """Fit the additive law of parameters and tokens to training runs.

    Computes::

        min Σ_i Huber_δ( logsumexp(a − α log N_i, b − β log D_i, e) − log L_i )

    with ``A, B, E = exp(a), exp(b), exp(e)``, from a grid of starts by Newton's method. The
    best end must be a minimum: its gradient is checked.

    Args:
        n: Parameters of each run.
        d: Tokens that each was trained on.
        loss: Loss that each reached [nats].
        delta: Residual of the log loss at which squares turn to absolute values [nats].
        scale: Factor on the objective, such as ``1 / len(n)`` for its mean. It does not change
            the answer, and the Huber loss that is returned is the sum in any case.

    Returns:
        The law, whose ``intervals()`` are those of its constants.

    Raises:
        InputError: If a number is not positive, the lengths differ, fewer than six runs are
            given, they do not determine all five constants, or no float is as large as one.

    Example:
        >>> law = ChinchillaLaw(A=400.0, B=400.0, E=1.7, alpha=0.34, beta=0.28)
        >>> n = np.repeat([1e7, 1e8, 1e9, 1e10], 4)
        >>> d = np.tile([1e9, 1e10, 1e11, 1e12], 4)
        >>> fit = fit_chinchilla(n, d, law.loss(n, d))
        >>> round(fit.E, 3), round(fit.alpha, 3), round(fit.beta, 3)
        (1.7, 0.34, 0.28)
        >>> low, high = fit.intervals(resamples=50)["alpha"]
        >>> round(low, 3), round(high, 3)  # no noise, no doubt
        (0.34, 0.34)

    References:
        Hoffmann et al. (2022). Training compute-optimal large language models, approach 3.
        Besiroglu et al. (2024). Chinchilla scaling: a replication attempt. The fit of the
        paper had stopped early because the loss was a mean.
    """
    law, middles = additive(n, d, loss, delta, scale)
    theta = lowest(law)
    value = float(law.value(theta)[0] / scale)
    a, b, e, alpha, beta = (float(v) for v in uncentred(theta, middles)[0])
    if alpha <= 0 or beta <= 0:
        raise InputError(
            f"the loss does not fall with size and tokens: alpha={alpha:.3g}, beta={beta:.3g}; "
            "the runs must vary both, apart from each other"
        )
    return ChinchillaFit(
        A=constant("A", a),
        B=constant("B", b),
        E=constant("E", e),
        alpha=alpha,
        beta=beta,
        huber=value,
        runs=copied(n, d, loss),
        delta=delta,
    )


def chinchilla_intervals(
    n: Numbers,
    d: Numbers,
    loss: Numbers,
    fit: ChinchillaLaw,
    *,
    delta: float | int = 1e-3,
    level: float | int = 0.95,
    resamples: int = 400,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """Intervals of the constants from fits to runs drawn anew (pairs bootstrap).

    Whole runs are drawn with replacement, and each draw is fitted from ``fit`` as a warm start;
    the ends are quantiles of these fits, a little further out the fewer runs there are. So the
    residuals of the runs may differ in spread, as those of small and of large runs do, and have
    heavy tails. The runs are taken to be independent: where some share an error, such as
    readings of one run, the intervals are too narrow. ``share`` is the exponent of compute in
    the best number of parameters, ``beta / (alpha + beta)``.

    Args:
        n: Parameters of each run.
        d: Tokens that each was trained on.
        loss: Loss that each reached [nats].
        fit: What :func:`fit_chinchilla` found.
        delta: As in the fit [nats].
        level: Of the intervals.
        resamples: How many times the runs are drawn.
        seed: Of the draws.

    Returns:
        Low and high end by name.

    Raises:
        InputError: As :func:`fit_chinchilla`, or if there are fewer than 8 runs or 20
            resamples, or the level is not between 0 and 1.

    Example:
        >>> law = ChinchillaLaw(A=400.0, B=400.0, E=1.7, alpha=0.34, beta=0.28)
        >>> n = np.repeat([1e7, 1e8, 1e9, 1e10], 4)
        >>> d = np.tile([1e9, 1e10, 1e11, 1e12], 4)
        >>> loss = law.loss(n, d) * np.exp(0.01 * np.random.default_rng(0).standard_normal(16))
        >>> ends = chinchilla_intervals(n, d, loss, fit_chinchilla(n, d, loss), resamples=50)
        >>> list(ends)
        ['A', 'B', 'E', 'alpha', 'beta', 'share']

    References:
        Besiroglu et al. (2024), arXiv:2404.10102, whose intervals are of this kind.
    """
    law, middles = additive(n, d, loss, delta)
    theta = minimise(law, warm(fit, middles))
    require_minimum(law, theta, list(NAMES[:3]))
    many = resampled(law, 5, resamples, np.random.default_rng(seed))
    found = with_share(minimise(many, np.repeat(theta, resamples, 0)), middles)
    return named(expanded_ends(found, level, law.target.shape[1], 5))


def with_share(
    theta: Float[np.ndarray, "S 5"], middles: Float[np.ndarray, " 2"]
) -> Float[np.ndarray, "S 6"]:
    """``log A, log B, log E, α, β`` and the share of compute, of unknowns that are centred."""
    found = uncentred(theta, middles)
    return np.column_stack([found, found[:, 4] / (found[:, 3] + found[:, 4])])


def additive(
    n: Numbers, d: Numbers, loss: Numbers, delta: float | int, scale: float | int = 1.0
) -> tuple[LogSum, Float[np.ndarray, " 2"]]:
    """The law of runs with both logarithms centred, and the middles that were taken off."""
    x, y, log_loss, middles = centred_runs(n, d, loss, delta)
    require_positive(scale=scale)
    design = np.zeros((3, len(x), 5))
    design[[0, 1, 2], :, [0, 1, 2]] = 1
    design[0, :, 3], design[1, :, 4] = -x, -y
    return LogSum(design, log_loss[None], float(delta), scale), middles


def lowest(law: LogSum) -> Float[np.ndarray, "1 5"]:
    """The least minimum over a grid of starts, laid around the losses observed."""
    least, mean = np.exp(law.target.min()), np.exp(law.target.mean())
    powers, floors, splits = (0.2, 0.5, 1.0), (0.3, 0.6, 0.9), (0.25, 0.75)
    starts = []
    for alpha, beta, floor, split in itertools.product(powers, powers, floors, splits):
        rest = mean - floor * least
        logs = np.log([split * rest, (1 - split) * rest, floor * least])
        starts.append([*logs, alpha, beta])
    return least_minimum(law, np.array(starts), list(NAMES[:3]))


def uncentred(
    theta: Float[np.ndarray, "S 5"], middles: Float[np.ndarray, " 2"]
) -> Float[np.ndarray, "S 5"]:
    """Unknowns for logarithms that are not centred."""
    shift = np.zeros_like(theta)
    shift[:, :2] = theta[:, 3:] * middles
    return theta + shift


def warm(fit: ChinchillaLaw, middles: Float[np.ndarray, " 2"]) -> Float[np.ndarray, "1 5"]:
    """A law as a start."""
    theta = np.array([[*np.log([fit.A, fit.B, fit.E]), fit.alpha, fit.beta]])
    return 2 * theta - uncentred(theta, middles)


def named(ends: Float[np.ndarray, "2 6"]) -> dict[str, tuple[float, float]]:
    """Ends by name, those of the logarithms turned back; one beyond 1e308 is infinite."""
    with np.errstate(over="ignore"):
        ends = np.column_stack([np.exp(ends[:, :3]), ends[:, 3:]])
    return {
        name: (float(low), float(high))
        for name, low, high in zip((*NAMES, "share"), *ends, strict=True)
    }

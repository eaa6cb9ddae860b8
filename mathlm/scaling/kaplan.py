"""The joint law of Kaplan et al.: parameters and tokens in one power of a sum, no floor."""

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

from ..checks import require_positive
from ..errors import InputError
from ..shapes import Float
from .chinchilla import Triple, centred_runs, copied
from .fitting import (
    RaisedLogSum,
    expanded_ends,
    least_minimum,
    minimise,
    require_minimum,
    resampled,
)
from .power_law import Numbers, positive

NAMES = ("N_c", "D_c", "alpha_n", "alpha_d", "share")
TERMS = ["N_c", "D_c"]
LARGEST_LOG = 230.0  # of N_c and D_c: beyond 1e100 the loss hardly falls


@dataclass(frozen=True, kw_only=True)
class KaplanLaw:
    """``loss = [(N_c / N)^(alpha_n / alpha_d) + D_c / D]^alpha_d``.

    Attributes:
        N_c: Parameters that would give a loss of 1 nat, with data without end.
        D_c: Tokens that would give a loss of 1 nat, with a model without end.
        alpha_n: Exponent of the parameters.
        alpha_d: Exponent of the tokens.
        huber: Huber loss of the fit, summed over the runs; 0 for a law that was not fitted.

    Example:
        >>> law = KaplanLaw(N_c=6.4e13, D_c=1.8e13, alpha_n=0.076, alpha_d=0.103)
        >>> law.loss([1e30], [1.8e13]).round(2)  # 1 nat at D_c, with a model without end
        array([1.])
    """

    N_c: float | int
    D_c: float | int
    alpha_n: float | int
    alpha_d: float | int
    huber: float | int = 0.0

    def __post_init__(self) -> None:
        require_positive(N_c=self.N_c, D_c=self.D_c, alpha_n=self.alpha_n, alpha_d=self.alpha_d)

    def loss(self, n: Numbers, d: Numbers) -> Float[np.ndarray, " N"]:
        """Loss of models of so many parameters on so many tokens [nats]."""
        return kaplan_loss(n, d, self.N_c, self.D_c, self.alpha_n, self.alpha_d)


@dataclass(frozen=True, kw_only=True)
class KaplanFit(KaplanLaw):
    """The law that :func:`fit_kaplan` found, and what it was fitted to.

    Attributes:
        runs: Parameters, tokens and losses [nats] of the runs.
        delta: Residual at which squares turned to absolute values [nats].
    """

    runs: Triple = field(repr=False, compare=False)
    delta: float | int

    def intervals(
        self, *, level: float | int = 0.95, resamples: int = 400, seed: int = 0
    ) -> dict[str, tuple[float, float]]:
        """Intervals of the constants and the share: :func:`kaplan_intervals` of the runs.

        Args:
            level: Of the intervals.
            resamples: How many times the runs are drawn.
            seed: Of the draws.

        Returns:
            Low and high end by name.

        Raises:
            InputError: As that function.
        """
        return kaplan_intervals(
            *self.runs,
            self,
            delta=self.delta,
            level=level,
            resamples=resamples,
            seed=seed,
        )


def kaplan_loss(
    n: Numbers,
    d: Numbers,
    n_c: float | int = 6.4e13,
    d_c: float | int = 1.8e13,
    alpha_n: float | int = 0.076,
    alpha_d: float | int = 0.103,
) -> Float[np.ndarray, " N"]:
    """Loss by the joint law of Kaplan et al., which has no floor.

    Implements eq-scaling-kaplan::

        [ (N_c / N)^(α_N / α_D) + D_c / D ]^α_D

    Args:
        n: Parameters without the embeddings.
        d: Tokens of the data set.
        n_c: Parameters that give a loss of 1 nat, with data without end.
        d_c: Tokens that give a loss of 1 nat, with a model without end.
        alpha_n: Exponent of the parameters.
        alpha_d: Exponent of the tokens.

    Returns:
        Loss [nats].

    Raises:
        InputError: If a number is not positive.

    Example:
        >>> kaplan_loss([6.4e13], [1e30]).round(6)  # 1 nat at N_c, with data without end
        array([1.])

    References:
        Kaplan et al. (2020). Scaling laws for neural language models, equation 1.5; the
        constants are those of its table 2.
    """
    require_positive(n_c=n_c, d_c=d_c, alpha_n=alpha_n, alpha_d=alpha_d)
    size, tokens = positive("n", n), positive("d", d)
    return ((n_c / size) ** (alpha_n / alpha_d) + d_c / tokens) ** alpha_d


def fit_kaplan(
    n: Numbers,
    d: Numbers,
    loss: Numbers,
    *,
    delta: float | int = 1e-3,
    scale: float | int = 1.0,
) -> KaplanFit:
    """Fit the joint law without a floor to training runs.

    Computes::

        min Σ_i Huber_δ( α_D logsumexp(q (log N_c − log N_i), log D_c − log D_i) − log L_i )

    with ``q = α_N / α_D``, from a grid of starts by Newton's method. The best end must be a
    minimum: its gradient is checked.

    Args:
        n: Parameters of each run.
        d: Tokens that each was trained on.
        loss: Loss that each reached [nats].
        delta: Residual of the log loss at which squares turn to absolute values [nats].
        scale: Factor on the objective. It does not change the answer, and the Huber loss that
            is returned is the sum in any case.

    Returns:
        The law, whose ``intervals()`` are those of its constants.

    Raises:
        InputError: If a number is not positive, the lengths differ, fewer than six runs are
            given, they do not determine all four constants, or the loss does not fall.

    Example:
        >>> law = KaplanLaw(N_c=6.4e13, D_c=1.8e13, alpha_n=0.076, alpha_d=0.103)
        >>> n = np.repeat([1e6, 1e7, 1e8, 1e9], 4)
        >>> d = np.tile([1e7, 1e8, 1e9, 1e10], 4)
        >>> fit = fit_kaplan(n, d, law.loss(n, d))
        >>> round(fit.alpha_n, 3), round(fit.alpha_d, 3)
        (0.076, 0.103)

    References:
        Kaplan et al. (2020). Scaling laws for neural language models, equation 1.5.
    """
    law, middles = joint(n, d, loss, delta, scale)
    theta = lowest(law)
    logs, alphas = np.split(constants(theta, middles)[0, :4], 2)
    if alphas.min() <= 0 or np.abs(logs).max() > LARGEST_LOG:
        raise InputError(
            f"the loss does not fall with size and tokens: alpha_n={alphas[0]:.3g}, "
            f"alpha_d={alphas[1]:.3g}; the runs must vary both, apart from each other"
        )
    return KaplanFit(
        N_c=math.exp(logs[0]),
        D_c=math.exp(logs[1]),
        alpha_n=float(alphas[0]),
        alpha_d=float(alphas[1]),
        huber=float(law.value(theta)[0] / scale),
        runs=copied(n, d, loss),
        delta=delta,
    )


def kaplan_intervals(
    n: Numbers,
    d: Numbers,
    loss: Numbers,
    fit: KaplanLaw,
    *,
    delta: float | int = 1e-3,
    level: float | int = 0.95,
    resamples: int = 400,
    seed: int = 0,
) -> dict[str, tuple[float, float]]:
    """Intervals of the constants from fits to runs drawn anew (pairs bootstrap).

    As :func:`chinchilla_intervals`. ``share`` is the exponent of compute in the best number of
    parameters, ``alpha_d / (alpha_n + alpha_d)``.

    Args:
        n: Parameters of each run.
        d: Tokens that each was trained on.
        loss: Loss that each reached [nats].
        fit: What :func:`fit_kaplan` found.
        delta: As in the fit [nats].
        level: Of the intervals.
        resamples: How many times the runs are drawn.
        seed: Of the draws.

    Returns:
        Low and high end by name.

    Raises:
        InputError: As :func:`fit_kaplan`, or if there are fewer than 20 resamples, or the level
            is not between 0 and 1.

    Example:
        >>> law = KaplanLaw(N_c=6.4e13, D_c=1.8e13, alpha_n=0.076, alpha_d=0.103)
        >>> n = np.repeat([1e6, 1e7, 1e8, 1e9], 4)
        >>> d = np.tile([1e7, 1e8, 1e9, 1e10], 4)
        >>> ends = kaplan_intervals(n, d, law.loss(n, d), law, resamples=20)
        >>> [round(end, 3) for end in ends["alpha_n"]]  # no noise, no doubt
        [0.076, 0.076]
    """
    law, middles = joint(n, d, loss, delta)
    theta = minimise(law, warm(fit, middles))
    require_minimum(law, theta, TERMS)
    many = resampled(law, 4, resamples, np.random.default_rng(seed))
    found = constants(minimise(many, np.repeat(theta, resamples, 0)), middles)
    low, high = expanded_ends(found, level, law.target.shape[1], 4)
    low[:2], high[:2] = np.exp(low[:2]), np.exp(high[:2])
    return {name: (float(a), float(b)) for name, a, b in zip(NAMES, low, high, strict=True)}


def joint(
    n: Numbers, d: Numbers, loss: Numbers, delta: float | int, scale: float | int = 1.0
) -> tuple[RaisedLogSum, Float[np.ndarray, " 2"]]:
    """The law of runs with unknowns ``q log N_c, q, log D_c, α_D``, both logarithms centred."""
    x, y, log_loss, middles = centred_runs(n, d, loss, delta)
    require_positive(scale=scale)
    design = np.zeros((2, len(x), 4))
    design[0, :, 0], design[0, :, 1] = 1, -x
    design[1, :, 2], design[1, :, 3] = 1, -y  # the power's place: -y is known
    return RaisedLogSum(design, log_loss[None], float(delta), scale), middles


def lowest(law: RaisedLogSum) -> Float[np.ndarray, "1 4"]:
    """The least minimum over a grid of starts, laid around the losses observed."""
    mean = float(law.target.mean())
    powers, ratios, splits = (0.05, 0.1, 0.3, 0.7), (0.4, 1.0, 2.5), (0.25, 0.75)
    starts = np.array(
        [
            [mean / p + math.log(split), q, mean / p + math.log1p(-split), p]
            for p, q, split in itertools.product(powers, ratios, splits)
        ]
    )
    return least_minimum(law, starts, TERMS)


def constants(
    theta: Float[np.ndarray, "S 4"], middles: Float[np.ndarray, " 2"]
) -> Float[np.ndarray, "S 5"]:
    """``log N_c, log D_c, α_N, α_D`` and the share, of unknowns with centred logarithms."""
    a, q, c, p = theta.T
    return np.stack([a / q + middles[0], c + middles[1], q * p, p, 1 / (1 + q)], axis=1)


def warm(fit: KaplanLaw, middles: Float[np.ndarray, " 2"]) -> Float[np.ndarray, "1 4"]:
    """A law as a start."""
    q = fit.alpha_n / fit.alpha_d
    log_n, log_d = np.log([fit.N_c, fit.D_c]) - middles
    return np.array([[q * log_n, q, log_d, fit.alpha_d]])

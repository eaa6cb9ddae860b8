"""What a budget buys by a law of smaller runs, and how far the answer may be trusted."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..checks import require_positive
from ..errors import InputError
from ..shapes import Float
from .chinchilla import ChinchillaLaw
from .fitting import student_quantile
from .kaplan import KaplanLaw, fit_kaplan
from .power_law import Numbers, positive

Fit = Callable[[Numbers, Numbers, Numbers], ChinchillaLaw | KaplanLaw]


class BudgetPlan(NamedTuple):
    """The model that a law prefers for a budget.

    Attributes:
        n: Parameters of the best candidate.
        d: Tokens that the budget buys for it.
        loss: Predicted [nats].
        interval: Of the loss of a run that is yet to be made [nats].
        chosen: The best candidate of each fit that left one group of runs out.
        curve: Predicted loss of every candidate [nats].
    """

    n: float
    d: float
    loss: float
    interval: tuple[float, float]
    chosen: Float[np.ndarray, " G"]
    curve: Float[np.ndarray, " N"]


def plan_budget(
    compute: float | int,
    runs: tuple[Numbers, Numbers, Numbers],
    groups: Numbers,
    sizes: Numbers,
    cost: Numbers,
    *,
    fit: Fit = fit_kaplan,
    level: float | int = 0.95,
) -> BudgetPlan:
    """Choose a size for a budget of compute, and predict its loss with an interval.

    The law is fitted to all runs, and again with each group left out. With G groups whose
    predictions of the log loss have the variance v, the jackknife gives the squared standard
    error (G − 1) v; the squared spread of the runs about the law is added to it, for the noise
    of a new run::

        interval = exp( log L ± t · sqrt( (G − 1) v + s² ) ),   t of Student with G − 1

    Groups that share their luck (the readings of one run) or what is wrong with the law (those
    of one size) belong together: with every reading on its own the interval is too short.

    Args:
        compute: The budget C [FLOP].
        runs: Parameters, tokens and losses [nats] of the runs that were made.
        groups: The group of each run.
        sizes: Parameters of the models that could be trained, counted as in the runs.
        cost: Compute of one token of each of them, about ``6 · sizes`` [FLOP].
        fit: Runs to law, such as :func:`fit_kaplan` or :func:`fit_chinchilla`.
        level: Of the interval.

    Raises:
        InputError: If a number is not positive, there are fewer than three groups, the numbers
            of sizes and costs or of runs and groups differ, or a fit is refused.

    Example:
        >>> from mathlm.scaling import ChinchillaLaw
        >>> law = ChinchillaLaw(A=1.0, B=1.0, E=1.0, alpha=0.5, beta=0.5)
        >>> n, d, sizes = np.array([[10.0, 20.0, 30.0], [50.0] * 3, [50.0, 100.0, 200.0]])
        >>> runs, cost = (n, d, law.loss(n, d)), 6 * sizes
        >>> plan = plan_budget(6e4, runs, ["a", "b", "c"], sizes, cost, fit=lambda *runs: law)
        >>> plan.n, plan.d, round(plan.loss, 6)  # 1 + 1/10 + 1/10
        (100.0, 100.0, 1.2)

    References:
        Efron and Tibshirani (1993). An introduction to the bootstrap, chapter 11.
    """
    require_positive(compute=compute)
    n, d, losses = (
        positive(name, row) for name, row in zip(("n", "d", "loss"), runs, strict=True)
    )
    label, candidates = np.asarray(groups), positive("sizes", sizes)
    tokens = compute / positive("cost", cost)
    names = np.unique(label)
    require_groups(len(names), len(label), len(n), len(candidates), len(tokens))
    whole = fit(n, d, losses)
    curve = whole.loss(candidates, tokens)
    best = int(curve.argmin())
    left = [fit(n[k], d[k], losses[k]) for k in (label != name for name in names)]
    curves = np.array([law.loss(candidates, tokens) for law in left])
    error = (len(names) - 1) * np.log(curves[:, best]).var()
    spread = np.log(whole.loss(n, d) / losses).var()
    reach = student_quantile(level, len(names) - 1) * np.sqrt(error + spread)
    ends = (float(curve[best] * np.exp(-reach)), float(curve[best] * np.exp(reach)))
    chosen = candidates[curves.argmin(1)]
    return BudgetPlan(
        float(candidates[best]), float(tokens[best]), float(curve[best]), ends, chosen, curve
    )


def require_groups(groups: int, labels: int, runs: int, sizes: int, costs: int) -> None:
    """Refuse labels and costs that do not fit, and too few groups."""
    if labels != runs or sizes != costs:
        raise InputError(
            f"{labels} groups for {runs} runs, and {costs} costs for {sizes} sizes: expected "
            "one group for each run and one cost for each size"
        )
    if groups < 3:
        raise InputError(
            f"{groups} groups of runs: leaving one out needs at least 3, such as three sizes"
        )

"""Linear classifiers on the states of a frozen model: what a straight cut can read there."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from ..errors import InputError, InputTypeError
from ..optim.update import Eager
from ..shapes import Bool, Float, Int

EVALUATIONS = 2000  # of the loss, at most


class Search(Eager, torch.optim.LBFGS):
    """The search for a least loss by its gradients."""


@dataclass(frozen=True, eq=False)
class Probe:
    """A softmax over linear scores of the classes, as :func:`linear_probe` fits it.

    Args:
        classes: In the order of the rows.
        weight: One row for each class, (C, D).
        bias: One number for each class.
    """

    classes: tuple[Hashable, ...]
    weight: Float[Tensor, "C D"]
    bias: Float[Tensor, " C"]

    def logits(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N C"]:
        """Scores of the classes, of which the softmax is their probability."""
        require_states(x)
        if x.ndim != 2 or x.shape[1] != self.weight.shape[1]:
            raise InputError(
                f"x {tuple(x.shape)} must have rows of {self.weight.shape[1]} numbers, as "
                "those that the probe was fitted to"
            )
        return x.to(self.weight) @ self.weight.mT + self.bias

    def predict(self, x: Float[Tensor, "N D"]) -> list[Hashable]:
        """The likeliest class of each row."""
        return [self.classes[i] for i in self.logits(x).argmax(-1).tolist()]

    def right(self, x: Float[Tensor, "N D"], y: Sequence[Hashable]) -> Bool[Tensor, " N"]:
        """Whether the likeliest class of each row is the label.

        Raises:
            InputError: If there are not as many labels as rows.
            InputTypeError: If y is a tensor and not a list of labels.
        """
        require_labels(y)
        require_same_length(x, y)
        same = [a == b for a, b in zip(self.predict(x), y, strict=True)]
        return torch.tensor(same, dtype=torch.bool)


def linear_probe(
    x: Float[Tensor, "N D"],
    y: Sequence[Hashable],
    *,
    penalty: float | int = 1.0,
    classes: Sequence[Hashable] | None = None,
    tolerance: float = 1e-8,
) -> Probe:
    """The linear classifier of least penalized loss, to rounding: nothing is left to chance.

    Implements eq-feature-probe::

        W, b = argmin  - Σ_n ln softmax(xₙ Wᵀ + b)[yₙ] + ½ λ ‖W‖²

    The loss is convex. It is minimized in float64 in coordinates in which its curvature is
    nowhere above 1, since that of a softmax is at most ½: with A = [x, 1] and the Cholesky
    factor L Lᵀ = ½ AᵀA + λI, the coordinates are W L.

    Args:
        x: States, one row for each example; used as they are.
        y: Label of each row.
        penalty: λ > 0; b is free. scikit-learn's C is 1/λ.
        classes: What labels there are; None = those that occur.
        tolerance: Largest entry of the gradient in those coordinates at which to stop.

    Returns:
        The probe, in float64.

    Raises:
        InputError: If lengths differ, x is not finite, there is one class only, a class has no
            example, a label is no class, a number is out of range, or the fit does not end.
        InputTypeError: If x is no tensor, or y a tensor and not a list of labels.

    Example:
        >>> x = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
        >>> probe = linear_probe(x, ["low", "low", "high", "high"])
        >>> probe.predict(torch.tensor([[0.5], [2.5]]))
        ['low', 'high']

    References:
        Alain and Bengio (2016), arXiv:1610.01644; Böhning (1992), Multinomial logistic
        regression algorithm (the bound).
    """
    require_labels(y)
    require_states(x)
    require_same_length(x, y)
    if not 0 < penalty < math.inf or not 0 < tolerance < 1:
        raise InputError(
            f"penalty={penalty} must be positive and finite, tolerance={tolerance} in (0, 1)"
        )
    known = class_list(y, classes)
    place = {label: i for i, label in enumerate(known)}
    rows = torch.tensor([place[label] for label in y], device=x.device)
    return Probe(known, *fit(x.detach().double(), rows, len(known), float(penalty), tolerance))


def fit(
    x: Float[Tensor, "N D"], rows: Int[Tensor, " N"], C: int, penalty: float, tolerance: float
) -> tuple[Float[Tensor, "C D"], Float[Tensor, " C"]]:
    """Weights and biases of least penalized loss."""
    a = torch.cat([x, x.new_ones(len(x), 1)], 1)  # (N, D + 1)
    decay = torch.cat([x.new_full(x.shape[1:], penalty), x.new_zeros(1)]).diag()
    lower, failed = torch.linalg.cholesky_ex(a.mT @ a / 2 + decay)
    if failed:
        raise InputError(
            f"penalty={penalty:g} is lost in rounding beside states as large as "
            f"{float(x.abs().max()):.3g}: take a larger one, or smaller states"
        )
    z = torch.linalg.solve_triangular(lower, a.mT, upper=False).mT
    half = torch.linalg.solve_triangular(lower, decay.sqrt(), upper=False)
    prior, y = half @ half.mT, one_hot(rows, C).to(x)
    u = x.new_zeros(C, a.shape[1])
    search = Search(
        [u], max_iter=EVALUATIONS, max_eval=EVALUATIONS, tolerance_grad=tolerance,
        tolerance_change=0.0, history_size=20, line_search_fn="strong_wolfe",
    )  # fmt: skip

    def loss() -> Tensor:
        logp = (z @ u.mT).log_softmax(-1)
        pull = u @ prior
        u.grad = (logp.exp() - y).mT @ z + pull
        return (u * pull).sum() / 2 - (y * logp).sum()

    search.step(loss)
    loss()
    require_ended(u, tolerance)
    w = torch.linalg.solve_triangular(lower.mT, u.mT, upper=True).mT  # u = w L
    return w[:, :-1].contiguous(), w[:, -1].contiguous()


def require_ended(u: Tensor, tolerance: float) -> None:
    """Refuse a fit that has not come to rest."""
    left = float("inf") if u.grad is None else float(u.grad.abs().max())
    if not left <= 100 * tolerance:  # the last steps may be lost in rounding
        raise InputError(
            f"after {EVALUATIONS} evaluations the gradient is {left:.1e}, more than "
            f"{tolerance:.0e}: the classes are nearly separable; take a larger penalty"
        )


def class_list(
    y: Sequence[Hashable], classes: Sequence[Hashable] | None
) -> tuple[Hashable, ...]:
    """The classes, each of which has an example."""
    found = tuple(sorted(set(y), key=lambda label: (str(type(label)), label)))
    known = found if classes is None else tuple(classes)
    if strange := [label for label in found if label not in known]:
        raise InputError(f"the labels {strange[:5]} are none of the {len(known)} classes")
    if empty := [label for label in known if label not in found]:
        raise InputError(
            f"the classes {empty[:5]} have no example among {len(y)}; leave them out"
        )
    if len(set(known)) < len(known) or len(known) < 2:
        raise InputError(
            f"the classes are {list(known)[:5]}; expected two or more different ones"
        )
    return known


def require_labels(y: Sequence[Hashable]) -> None:
    """Refuse what is no list of labels: numbers in a tensor are equal to none of them."""
    if isinstance(y, Tensor | str):
        raise InputTypeError(f"y is a {type(y).__name__}; give a list of labels: y.tolist()")


def require_states(x: Tensor) -> None:
    """Refuse states that no class could be told from."""
    if not isinstance(x, Tensor):
        raise InputTypeError(f"x is a {type(x).__name__}; give a tensor (N, D)")
    if bad := int((~x.isfinite()).sum()):
        raise InputError(f"x holds {bad} NaN or infinite numbers; every one must be finite")


def require_same_length(x: Tensor, y: Sequence[Hashable]) -> None:
    """Refuse labels that are not one for each row."""
    if x.ndim != 2 or len(x) != len(y):
        raise InputError(f"x {tuple(x.shape)} must have a row for each of the {len(y)} labels")


def control_labels(
    words: Sequence[Hashable], labels: Sequence[Hashable], seed: int = 0
) -> list[Hashable]:
    """A label for each word that has nothing to do with it, the same wherever the word stands.

    Each different word draws its label from all labels of the task, as often as they occur.
    Nothing but which word it is can tell the label: a probe that does well here does so by
    heart. How much better it is at the task itself is its selectivity.

    Args:
        words: The word that each label belongs to.
        labels: Of the task.
        seed: Of the draw.

    Returns:
        As many labels.

    Raises:
        InputError: If there are none, or the lengths differ.
        InputTypeError: If words or labels are a tensor, whose entries are equal to no other.

    Example:
        >>> labels = control_labels(["run", "to", "run", "be"], ["verb", "to", "verb", "verb"])
        >>> len(labels), labels[0] == labels[2]  # the same word, the same label
        (4, True)
    """
    require_lists(words=words, labels=labels)
    if not len(words) or len(words) != len(labels):
        raise InputError(f"{len(words)} words and {len(labels)} labels: expected one for each")
    rng = np.random.default_rng(seed)
    types = list(dict.fromkeys(words))
    drawn = dict(zip(types, rng.integers(len(labels), size=len(types)).tolist(), strict=True))
    return [labels[drawn[word]] for word in words]


def grouped_interval(
    values: Tensor,
    groups: Sequence[Hashable],
    seed: int = 0,
    *,
    draws: int = 1000,
    level: float = 0.95,
) -> tuple[float, float]:
    """Range of a mean when whole groups are drawn anew, with replacement.

    Computes::

        quantiles (1 ∓ level) / 2 of  Σ_g c_g s_g / Σ_g c_g n_g,   c ~ Multinomial(G; 1/G)

    s_g is the sum of the values of group g, n_g their number. Words of one sentence are not
    independent; drawn one by one they give an interval that is too narrow.

    Args:
        values: One for each word, such as whether a probe is right.
        groups: The sentence of each.
        seed: Of the draws.
        draws: How many.
        level: Share of the draws inside the range.

    Raises:
        InputError: If lengths differ, there are fewer than two groups, a value is not finite,
            or ``draws`` or ``level`` is out of range.
        InputTypeError: If values are no tensor, or groups are one.

    Example:
        >>> grouped_interval(torch.ones(4), ["a", "a", "b", "b"])  # nothing varies
        (1.0, 1.0)
    """
    require_lists(groups=groups)
    if not isinstance(values, Tensor):
        raise InputTypeError(f"values are a {type(values).__name__}; give a tensor")
    if values.ndim != 1 or len(values) != len(groups) or len(set(groups)) < 2:
        raise InputError(
            f"values {tuple(values.shape)} and {len(groups)} groups, {len(set(groups))} "
            "different: expected one for each value, and two different ones"
        )
    if draws < 1 or not 0 < level < 1 or not values.double().isfinite().all():
        raise InputError(
            f"draws={draws} must be positive, level={level} in (0, 1), and all values finite"
        )
    totals = group_sums(values.double(), groups)  # (2, G)
    G = totals.shape[1]
    counts = np.random.default_rng(seed).multinomial(G, np.full(G, 1 / G), size=draws)
    sums, sizes = (torch.from_numpy(counts).double() @ totals.mT).unbind(1)
    ends = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = (sums / sizes).quantile(ends).tolist()
    return low, high


def require_lists(**named: Sequence[Hashable]) -> None:
    """Refuse tensors and texts: equal entries of a tensor would count as different ones."""
    for name, given in named.items():
        if isinstance(given, Tensor | str):
            found = type(given).__name__
            raise InputTypeError(f"{name} is a {found}; give a list, such as {name}.tolist()")


def group_sums(values: Tensor, groups: Sequence[Hashable]) -> Float[Tensor, "2 G"]:
    """Sum and number of the values of each group."""
    place = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    rows = torch.tensor([place[group] for group in groups])
    both = torch.stack([values.cpu(), torch.ones(len(values), dtype=torch.float64)])
    return both.new_zeros(2, len(place)).index_add(1, rows, both)

"""Whether a probe found something or learned it: labels without sense, and intervals.

References:
    Hewitt and Liang (2019), Designing and interpreting probes with control tasks,
    arXiv:1909.03368.
"""

from collections.abc import Hashable, Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float


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

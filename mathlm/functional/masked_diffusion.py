"""Masked diffusion: tokens hidden at random levels, and the bound that the losses estimate."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from ..errors import InputError
from ..shapes import Float, Int
from .loss import token_cross_entropy

IGNORED = -100


def mask_levels(
    count: int, generator: Generator | None = None, *, stratified: bool = True
) -> Float[Tensor, " B"]:
    """Levels of masking of the rows of a batch, together uniform between 0 and 1.

    Implements eq-diffusion-stratified::

        mᵢ = (i + u) / B,   i = 0 … B - 1,   one u uniform on (0, 1] for all rows

    Row i has its level in the i-th of B equal parts, and a row picked at random has a uniform
    one. So the mean over a batch whose rows stand in random order has the same expectation as
    with independent levels, and it varies less.

    Args:
        count: Rows, B.
        generator: Source of the randomness, on the CPU; None = torch's own.
        stratified: False draws an own u for each row: independent levels.

    Returns:
        m, 0 < m ≤ 1, on the CPU.

    Raises:
        InputError: If there are no rows.

    Example:
        >>> (mask_levels(4) * 4).ceil().tolist()  # one level in each quarter
        [1.0, 2.0, 3.0, 4.0]

    References:
        Kingma et al. (2021), arXiv:2107.00630.
    """
    if count < 1:
        raise InputError(f"count={count} must be at least 1 row")
    u = 1 - torch.rand(1 if stratified else count, generator=generator)  # in (0, 1]
    return (torch.arange(count) + u) / count if stratified else u


def mask_independently(
    ids: Int[Tensor, "B T"],
    levels: Tensor,
    mask_id: int,
    generator: Generator | None = None,
) -> Int[Tensor, "B T"]:
    """Each token of a row hidden with the probability of the row, independently of the others.

    Implements eq-diffusion-forward::

        P(zₜ = [MASK]) = m,   P(zₜ = xₜ) = 1 - m

    Args:
        ids: Token ids x.
        levels: m of each row, 0 ≤ m ≤ 1.
        mask_id: Id of ``[MASK]``.
        generator: Source of the randomness, on the CPU; None = torch's own.

    Returns:
        z, the ids with masks.

    Raises:
        InputError: If the levels do not fit the rows or are no probabilities.

    Example:
        >>> ids, levels = torch.tensor([[1, 2, 3], [1, 2, 3]]), torch.tensor([0.0, 1.0])
        >>> mask_independently(ids, levels, mask_id=9).tolist()
        [[1, 2, 3], [9, 9, 9]]
    """
    _require_levels(levels, len(ids), lowest=0.0)
    lots = torch.rand(ids.shape, generator=generator).to(ids.device)
    return ids.masked_fill(lots < levels[:, None].to(ids.device), mask_id)


def mask_exactly(
    ids: Int[Tensor, "B T"],
    counts: Tensor,
    mask_id: int,
    generator: Generator | None = None,
) -> Int[Tensor, "B T"]:
    """A given number of tokens of each row hidden, every set of that size equally likely.

    Implements eq-diffusion-counts::

        S ~ uniform on the sets of k places,   zₜ = [MASK] for t in S,   level m = k / T

    Args:
        ids: Token ids x.
        counts: k of each row, 0 ≤ k ≤ T, int64.
        mask_id: Id of ``[MASK]``.
        generator: Source of the randomness, on the CPU; None = torch's own.

    Returns:
        z, the ids with masks.

    Raises:
        InputError: If the counts do not fit the rows.

    Example:
        >>> masked = mask_exactly(torch.tensor([[5, 6, 7, 8]]), torch.tensor([2]), mask_id=0)
        >>> int((masked == 0).sum())
        2
    """
    T = ids.shape[1]
    if counts.shape != (len(ids),) or not bool(((counts >= 0) & (counts <= T)).all()):
        raise InputError(
            f"counts {counts.tolist()} must be one number in 0..{T} for each of {len(ids)} rows"
        )
    places = torch.rand(ids.shape, generator=generator).argsort(dim=1).argsort(dim=1)
    return ids.masked_fill((places < counts[:, None].cpu()).to(ids.device), mask_id)


def masked_diffusion_loss(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"], levels: Tensor
) -> Float[Tensor, " B"]:
    """Cross-entropy of the hidden tokens of each row, divided by the row's level of masking.

    Implements eq-diffusion-loss::

        ℓ = (1/m) Σ_{t hidden} -log p(xₜ | z)

    Its expectation over m and z bounds -log p(x) of the row from above. With exactly k of T
    tokens hidden, k uniform on 1 … T, the level that belongs to it is m = k / T.

    Args:
        logits: About the token at each place itself.
        targets: x where z is hidden, -100 elsewhere.
        levels: m of each row, 0 < m ≤ 1.

    Returns:
        ℓ [nats], summed over the tokens of each row; the mean over rows is left to the caller.

    Raises:
        InputError: If the shapes do not fit, or a level is not in 0 < m ≤ 1.
        InputTypeError: If the targets are not int64.

    Example:
        >>> targets = torch.tensor([[1, -100]])  # one of two tokens is hidden
        >>> masked_diffusion_loss(torch.zeros(1, 2, 2), targets, torch.tensor([0.5]))  # 2 ln 2
        tensor([1.3863])

    References:
        Sahoo et al. (2024), arXiv:2406.07524.
    """
    _require_levels(levels, len(targets), lowest=torch.finfo(levels.dtype).tiny)
    loss = token_cross_entropy(logits, targets, ignore_index=IGNORED)  # (B, T), 0 at -100
    return loss.sum(1) / levels.to(loss)


def masked_diffusion_bound(
    model: Callable[[Tensor], Tensor],
    ids: Int[Tensor, "B T"],
    mask_id: int,
    *,
    samples: int = 1,
    generator: Generator | None = None,
) -> Float[Tensor, "N B"]:
    """Estimates of an upper bound of the negative log-likelihood of each row.

    Implements eq-diffusion-counts::

        -log p(x) ≤ E_{k ~ U{1..T}} E_{S, |S| = k} (T/k) Σ_{t in S} -log p(xₜ | x without S)

    The numbers k of one row's estimates are stratified; their mean is an unbiased estimate.
    Independent masks at a level m would have the same mean and an infinite variance.

    Args:
        model: From ids with masks to logits about each place, (B, T, V).
        ids: Texts without masks, one a row.
        mask_id: Id of ``[MASK]``.
        samples: Estimates for each row, N.
        generator: Source of the randomness, on the CPU; None = torch's own.

    Returns:
        Estimates [nats], summed over the tokens of a row.

    Raises:
        InputError: If there is a mask in the text, or no sample or no row is asked for.

    Example:
        >>> logits = torch.tensor([0.0, 0.0, -torch.inf])  # two tokens, and the mask
        >>> ids = torch.tensor([[0, 1, 1]])
        >>> bound = masked_diffusion_bound(lambda z: logits.expand(*z.shape, 3), ids, mask_id=2)
        >>> bound  # 3 log 2: a model that knows nothing
        tensor([[2.0794]])
    """
    _require_unmasked(ids, mask_id)
    each = [mask_levels(samples, generator) for _ in ids]
    found = []
    T = ids.shape[1]
    for levels in torch.stack(each, 1):  # (B,): one level for each row
        counts = (levels * T).ceil().long()  # uniform on 1 … T
        z = mask_exactly(ids, counts, mask_id, generator)
        targets = ids.masked_fill(z != mask_id, IGNORED)
        found.append(masked_diffusion_loss(model(z), targets, counts / T))
    return torch.stack(found)


def _require_levels(levels: Tensor, rows: int, lowest: float) -> None:
    if levels.shape != (rows,):
        raise InputError(f"levels {tuple(levels.shape)} must be one for each of {rows} rows")
    if not bool(((levels >= lowest) & (levels <= 1)).all()):
        sign = "<" if lowest else "<="
        raise InputError(f"levels {levels.tolist()} must lie in 0 {sign} level <= 1")


def _require_unmasked(ids: Tensor, mask_id: int) -> None:
    if not ids.numel():
        raise InputError(f"ids {tuple(ids.shape)} are empty: give at least one row")
    if bool((ids == mask_id).any()):
        place = (ids == mask_id).nonzero()[0].tolist()
        raise InputError(f"ids hold the mask {mask_id} at {place}; give the text itself")

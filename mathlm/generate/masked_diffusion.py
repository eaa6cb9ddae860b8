"""Writing with a masked diffusion model: masks filled in, several of them in each pass."""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Generator, Tensor

from ..errors import InputError
from ..shapes import Bool, Float, Int
from .sampling import Sampler

Order = Literal["random", "confidence", "left"]


@torch.no_grad()
def fill_masks(
    model: Callable[[Tensor], Tensor],
    ids: Int[Tensor, "B T"],
    mask_id: int,
    *,
    steps: int,
    order: str = "random",
    sampler: Sampler | None = None,
    generator: Generator | None = None,
) -> Int[Tensor, "B T"]:
    """Fill the masks of each row in ``steps`` passes; what is visible stays as it is.

    Implements eq-diffusion-commits::

        in each pass: xₜ ~ p(· | z) for the places t chosen, independently of each other

    Each pass commits an equal share of the masks that a row has, rounded up. A committed token
    is never masked again. A row of masks alone is written freely; a text with masks in it is
    infilled. With as many steps as masks and a random order, a sample is exact where the
    model's conditionals are.

    Args:
        model: From ids with masks to logits about each place, (B, T, V).
        ids: What to fill.
        mask_id: Id of ``[MASK]``; the model must give it the probability 0.
        steps: Passes, at least 1; more than there are masks serve nothing.
        order: Which masks first: ``random``; ``confidence``, those whose likeliest token is
            likeliest for the model, whatever the sampler makes of it; ``left``, those that
            stand first.
        sampler: How a token is drawn; None = from the model's distribution.
        generator: Source of the randomness, on the CPU; None = torch's own.

    Returns:
        The ids without masks.

    Raises:
        InputError: If ``steps`` is less than 1, the order is not known, or the model's
            distribution holds the mask.

    Example:
        >>> logits = torch.tensor([0.0, 50.0, -torch.inf])  # a model that wants token 1
        >>> ids = torch.tensor([[0, 2, 2]])
        >>> fill_masks(lambda z: logits.expand(*z.shape, 3), ids, mask_id=2, steps=2)
        tensor([[0, 1, 1]])

    References:
        Sahoo et al. (2024), arXiv:2406.07524; Chang et al. (2022), arXiv:2202.04200, for
        ``confidence``.
    """
    if steps < 1 or order not in get_args(Order):
        raise InputError(
            f"steps={steps} must be at least 1, and order={order!r} one of "
            f"{', '.join(get_args(Order))}"
        )
    z, sampler = ids.clone(), sampler or Sampler()
    for left in range(steps, 0, -1):
        hidden = z == mask_id
        if not bool(hidden.any()):
            break
        logits = model(z)  # (B, T, V)
        p = sampler.probabilities(logits)
        _require_no_mask(p, mask_id)
        chosen = _choose(hidden, _rank(logits, order, generator), left)
        drawn = torch.multinomial(p[chosen].cpu(), 1, generator=generator)[:, 0]
        z[chosen] = drawn.to(z.device)
    return z


def _rank(
    logits: Float[Tensor, "B T V"], order: str, generator: Generator | None
) -> Float[Tensor, "B T"]:
    """The largest come first."""
    (B, T), device = logits.shape[:2], logits.device
    if order == "random":
        return torch.rand(B, T, generator=generator).to(device)
    if order == "confidence":  # the model's own: after a greedy sampler all would be 1
        return logits.softmax(-1).amax(-1)
    return -torch.arange(T, device=device, dtype=torch.float32).expand(B, T)


def _choose(
    hidden: Bool[Tensor, "B T"], rank: Float[Tensor, "B T"], left: int
) -> Bool[Tensor, "B T"]:
    """Of each row's masks the share that one of ``left`` passes commits, largest rank first."""
    share = (hidden.sum(1, keepdim=True) + left - 1) // left
    place = rank.masked_fill(~hidden, -torch.inf).argsort(dim=1, descending=True, stable=True)
    return place.argsort(dim=1) < share


def _require_no_mask(p: Float[Tensor, "B T V"], mask_id: int) -> None:
    if mask_id < p.shape[-1] and bool((p[..., mask_id] > 0).any()):
        raise InputError(
            f"the model gives the mask {mask_id} a probability above 0: set its logit to -inf"
        )

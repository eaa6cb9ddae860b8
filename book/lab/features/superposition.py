"""More features than dimensions: the smallest model in which they share, and its geometry.

References:
    Elhage et al. (2022), Toy models of superposition, arXiv:2209.10652.
"""

import math

import torch
from torch import Tensor, nn

from mathlm.errors import InputError, InputTypeError, NonFiniteLossError
from mathlm.optim import Adam
from mathlm.shapes import Float


class ToyModel(nn.Module):
    """Features squeezed through fewer dimensions and read back; several models side by side.

    Implements eq-feature-toy::

        h = W x,   x̂ = ReLU(Wᵀ h + b)

    Column i of W is the direction of feature i. Without the ReLU it is a linear autoencoder.

    Args:
        n_features: Number m of features.
        width: Number D of dimensions.
        models: How many models, each with weights of its own.
        rectified: Whether there is the ReLU.
        seed: Of the first weights.

    Raises:
        InputError: If a size is no positive whole number.
    """

    def __init__(
        self,
        n_features: int,
        width: int,
        *,
        models: int = 1,
        rectified: bool = True,
        seed: int = 0,
    ) -> None:
        super().__init__()
        sizes = (n_features, width, models)
        if any(type(size) is not int for size in sizes) or min(sizes) < 1:
            raise InputError(
                f"{n_features=}, {width=} and {models=} must be whole numbers, 1 or more"
            )
        self.rectified = rectified
        start = torch.randn(
            models, width, n_features, generator=torch.Generator().manual_seed(seed)
        )
        self.weight = nn.Parameter(start / math.sqrt(n_features))
        self.bias = nn.Parameter(torch.zeros(models, n_features))

    def forward(self, x: Float[Tensor, "models N m"]) -> Float[Tensor, "models N m"]:
        """What is read back of the features."""
        read = x @ self.weight.mT @ self.weight + self.bias[:, None]
        return read.relu() if self.rectified else read


def sparse_features(
    count: int, n_features: int, density: Tensor, generator: torch.Generator
) -> Float[Tensor, "models N m"]:
    """Features that are there with some probability, and then anything from 0 to 1.

    Computes::

        xᵢ = 0 with probability 1 - p,   otherwise uniform on [0, 1], independently

    Args:
        count: Examples for each model.
        n_features: Number m of features.
        density: p of each model.
        generator: Of the draws.

    Raises:
        InputError: If there are no examples or features, or p is no probability.
        InputTypeError: If density is no tensor.
    """
    require_density(density)
    if count < 1 or n_features < 1:
        raise InputError(f"{count=} and {n_features=} must be 1 or more")
    shape = (len(density), count, n_features)
    there = torch.rand(shape, generator=generator) < density[:, None, None]
    return torch.rand(shape, generator=generator) * there


def train_toy(
    model: ToyModel,
    density: Tensor,
    importance: Tensor,
    *,
    steps: int = 2000,
    batch: int = 256,
    lr: float = 1e-2,
    seed: int = 0,
) -> Float[Tensor, " models"]:
    """Train models side by side, and measure the loss of each on fresh examples.

    Implements eq-feature-toy::

        loss = E Σᵢ Iᵢ (xᵢ - x̂ᵢ)²

    Adam, whose step size falls from ``lr`` to 0 along half a cosine.

    Args:
        model: Updated in place.
        density: p of each model, 0 < p ≤ 1.
        importance: I, one row for each model, (models, m), or one for all, (m,).
        steps: Of Adam.
        batch: Examples a step, for each model.
        lr: First step size.
        seed: Of the examples.

    Returns:
        Loss of each model on 20,000 fresh examples, or as near to them as whole batches are.

    Raises:
        InputError: If a number is out of range or shapes do not fit.
        InputTypeError: If density or importance are no tensors.
        NonFiniteLossError: If training comes to no finite loss.
    """
    whole = type(steps) is int and type(batch) is int
    if not whole or min(steps, batch) < 1 or not 0 < lr < math.inf:
        raise InputError(
            f"{steps=} and {batch=} must be 1 or more, and {lr=} positive and finite"
        )
    require_task(model, density, importance)
    generator = torch.Generator().manual_seed(seed)
    importance = importance.expand_as(model.bias)

    def losses() -> Tensor:
        x = sparse_features(batch, model.bias.shape[1], density, generator)
        return (importance[:, None] * (x - model(x)).square()).sum(-1).mean(-1)

    optimizer = Adam(model.parameters(), lr=lr)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * (1 + math.cos(math.pi * step / steps)) / 2
        optimizer.zero_grad()
        losses().sum().backward()  # no model sees another's examples
        optimizer.step()
    with torch.no_grad():
        found = torch.stack([losses() for _ in range(max(1, 20_000 // batch))]).mean(0)
    if not found.isfinite().all():
        raise NonFiniteLossError(f"the losses are {found.tolist()}: take less than {lr=}")
    return found


def require_task(model: ToyModel, density: Tensor, importance: Tensor) -> None:
    """Refuse features that do not fit the models."""
    models, m = model.bias.shape
    require_density(density)
    if not isinstance(importance, Tensor):
        raise InputTypeError(f"importance is a {type(importance).__name__}: give a tensor")
    if density.shape != (models,) or not (density > 0).all():
        raise InputError(
            f"density {tuple(density.shape)} must be one number in (0, 1] for each of {models} "
            "models"
        )
    fits = importance.shape in ((m,), (models, m))
    if not fits or not ((importance > 0) & importance.isfinite()).all():
        raise InputError(
            f"importance {tuple(importance.shape)} must be positive, ({m},) or ({models}, {m})"
        )


def require_density(density: Tensor) -> None:
    """Refuse what are no probabilities, one for each model."""
    if not isinstance(density, Tensor):
        raise InputTypeError(f"density is a {type(density).__name__}: give a tensor (models,)")
    if density.ndim != 1 or not ((density >= 0) & (density <= 1)).all():
        raise InputError(
            f"density {density.tolist()} must be one number in (0, 1] for each model"
        )


def interference(weight: Float[Tensor, "*models D m"]) -> Float[Tensor, "*models m m"]:
    """What is read of feature i when feature j alone is there, before ReLU and bias.

    Computes::

        G[i, j] = wᵢ · wⱼ

    Args:
        weight: Directions of the features as columns.
    """
    return weight.mT @ weight


def feature_dimensions(weight: Float[Tensor, "*models D m"]) -> Float[Tensor, "*models m"]:
    """Share of a dimension that each feature has for itself.

    Implements eq-feature-dimensions::

        ‖wᵢ‖² / Σⱼ (ŵᵢ · wⱼ)²,   ŵᵢ = wᵢ / ‖wᵢ‖

    1 for a direction that is orthogonal to all others, ½ for each of two opposite ones; 0 for a
    feature that is left out. They add up to D at most.

    Args:
        weight: Directions of the features as columns.

    Raises:
        InputError: If weights are no columns, or not finite.
    """
    if weight.ndim < 2 or not weight.isfinite().all():
        raise InputError(f"weight {tuple(weight.shape)} must be (..., D, m), and finite")
    squared = interference(weight).square().sum(-1)  # ‖wᵢ‖² Σⱼ (ŵᵢ · wⱼ)²
    norms = weight.square().sum(-2)
    return (norms.square() / squared).where(norms > 1e-12, 0.0)


def own_direction_loss(density: float | int, importance: float | int = 1.0) -> float:
    """Loss of one dimension that holds one of two features; the other is told by its mean.

    Implements eq-feature-own::

        r (p / 3 - p² / 4)

    That is the variance of the second feature times its importance r; the first has 1.

    Args:
        density: p.
        importance: r of the second feature.
    """
    require_pair(density, importance)
    return importance * (density / 3 - density**2 / 4)


def shared_direction_loss(density: float | int, importance: float | int = 1.0) -> float:
    """Loss of one dimension that holds two features in opposite directions, W = (1, -1).

    Implements eq-feature-shared::

        (1 + r) p² / 6

    A single feature is read without error. Where both are there, with probability p², each is
    off by the smaller of the two, whose mean square is 1/6.

    Args:
        density: p.
        importance: r of the second feature.
    """
    require_pair(density, importance)
    return (1 + importance) * density**2 / 6


def sharing_threshold(importance: float | int = 1.0) -> float:
    """Density below which two opposite features in one dimension beat one alone.

    Implements eq-feature-shared::

        p* = 4 r / (2 + 5 r)

    Args:
        importance: r of the second feature.

    Example:
        >>> round(sharing_threshold(1), 3)
        0.571
    """
    require_pair(1.0, importance)
    return 4 * importance / (2 + 5 * importance)


def require_pair(density: float | int, importance: float | int) -> None:
    """Refuse what is no probability, or no importance."""
    if not 0 <= density <= 1 or not 0 < importance < math.inf:
        raise InputError(
            f"density={density} must be in [0, 1] and importance={importance} positive"
        )

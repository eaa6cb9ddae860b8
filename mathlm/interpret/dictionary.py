"""Training a sparse autoencoder, and what to measure of the dictionary that it finds."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..errors import ConfigError, DataError, InputError, InputTypeError
from ..optim import Adam, linear_decay
from ..shapes import Float
from ..train import Trainer, TrainerConfig
from .autoencoder import SparseAutoencoder

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SparseReconstruction:
    """Squared error of an autoencoder, and a penalty on what it uses; an objective to train by.

    Implements eq-features-loss::

        Σ ‖x - x̂‖² + sparsity Σ f + revival Σ ‖(x - x̂) - r‖²,   r = Coded.revival

    summed over vectors. The last term is there while a feature is idle. It asks the idle
    features, which get no gradient from the first term, to explain what the others leave over;
    x - x̂ is a constant in it.

    Args:
        sparsity: λ, cost of a unit of a feature [length]; 0 for an autoencoder that takes the
            largest.
        revival: Weight of the last term.

    Raises:
        ConfigError: If a number is negative.

    Example:
        >>> def model(x):  # misses all of x, with features that sum to 3
        ...     return torch.zeros_like(x), torch.tensor([[1.0, 2.0]]), None
        >>> objective = SparseReconstruction(sparsity=0.5)
        >>> objective(model, {"x": torch.tensor([[3.0, 4.0]])})  # 25 + 3 / 2
        (tensor(26.5000), 1)
    """

    sparsity: float = 0.0
    revival: float = 1 / 32

    def __post_init__(self) -> None:
        for name, value in (("sparsity", self.sparsity), ("revival", self.revival)):
            if not value >= 0:
                raise ConfigError(f"{name}={value} must not be negative")

    def __call__(self, model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, int]:
        """Loss summed over the vectors ``x`` (B, D) of a batch, and their number."""
        x = batch["x"]
        output, f, revival = model(x)
        loss = (x - output).square().sum() + self.sparsity * f.sum()
        if revival is not None and self.revival:
            left = (x - output).detach()
            loss = loss + self.revival * (left - revival).square().sum()
        return loss, len(x)


class VectorBatches:
    """Vectors in a shuffled order, each once in an epoch; a pure function of the step.

    Args:
        x: The vectors (N, D).
        batch_size: Vectors in a step; what fills no step is left to another epoch.
        seed: Seed of the order.

    Raises:
        ConfigError: If the batch size is not positive.
        DataError: If there are fewer vectors than a step takes.
        InputError: If x is not (N, D), or not finite.

    Example:
        >>> batches = VectorBatches(torch.eye(4), batch_size=2)
        >>> torch.cat([batches(0)["x"], batches(1)["x"]]).sum(0)  # each once in an epoch
        tensor([1., 1., 1., 1.])
    """

    def __init__(self, x: Float[Tensor, "N D"], *, batch_size: int, seed: int = 0) -> None:
        require_batch_size(batch_size)
        require_vectors(x)
        if len(x) < batch_size:
            raise DataError(f"there are {len(x)} vectors, but a step takes {batch_size}")
        self.x, self.batch_size, self.seed = x, batch_size, seed
        self.order = (-1, torch.empty(0))  # of the epoch that was asked for last

    def __call__(self, step: int) -> dict[str, Tensor]:
        """The batch of a step: ``x`` (B, D)."""
        epoch, i = divmod(step, len(self.x) // self.batch_size)
        if self.order[0] != epoch:
            draw = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
            self.order = epoch, torch.randperm(len(self.x), generator=draw)
        return {"x": self.x[self.order[1][i * self.batch_size :][: self.batch_size]]}

    def describe(self) -> dict[str, int]:
        """What decides the batches, beside the vectors."""
        return {"vectors": len(self.x), "batch_size": self.batch_size, "seed": self.seed}


def train_dictionary(
    model: SparseAutoencoder,
    x: Float[Tensor, "N D"],
    objective: SparseReconstruction,
    *,
    steps: int,
    batch_size: int = 256,
    lr: float = 1e-3,
    resample: Sequence[int] = (),
    seed: int = 0,
) -> list[dict[str, int | float]]:
    """Train an autoencoder on vectors, with a step size that falls to 0.

    Args:
        model: The autoencoder; :meth:`SparseAutoencoder.center` first helps.
        x: The vectors.
        objective: What to minimize.
        steps: Steps of Adam.
        batch_size: Vectors in a step.
        lr: Step size at the first step.
        resample: Steps after which idle features are drawn anew: see :func:`resample_idle`.
        seed: Of the order of the vectors and of those draws.

    Returns:
        One record for each step, as of :class:`mathlm.train.Trainer`.

    Raises:
        ConfigError: If a number is out of range, or the steps to resample after do not rise.
        DataError: If there are fewer vectors than a step takes.
        InputError: If x is not (N, D), or not finite.

    Example:
        >>> x, sae = torch.randn(200, 8), SparseAutoencoder(d_model=8, features=16, active=4)
        >>> how = {"steps": 50, "batch_size": 50, "lr": 0.01}
        >>> history = train_dictionary(sae, x, SparseReconstruction(), **how)
        >>> history[-1]["loss"] < history[0]["loss"]
        True
    """
    ends = [*resample, steps]
    if any(a >= b for a, b in zip([0, *ends], ends, strict=False)):
        raise ConfigError(f"resample={tuple(resample)} must rise between 0 and steps={steps}")
    data, schedule = VectorBatches(x, batch_size=batch_size, seed=seed), linear_decay(lr, steps)
    optimizer, history = Adam(model.parameters(), lr=lr), list[dict[str, int | float]]()
    for start, end in zip([0, *resample], ends, strict=True):
        if start:
            resample_idle(model, x.to(model.offset.device), optimizer, seed=seed + start)
        config = TrainerConfig(
            steps=end - start,
            schedule=lambda step, start=start: schedule(start + step),
            device="cuda" if model.offset.is_cuda else "cpu",
        )
        trainer = Trainer(
            model, objective, lambda s, start=start: data(start + s), optimizer, config
        )
        history += [row | {"step": start + row["step"]} for row in trainer.fit()]
    model.eval()
    return history


@torch.no_grad()
def resample_idle(
    model: SparseAutoencoder,
    x: Float[Tensor, "N D"],
    optimizer: torch.optim.Optimizer | None = None,
    *,
    seed: int = 0,
) -> int:
    """Give idle features new directions: those of vectors that are coded badly.

    A vector is drawn with a probability that is proportional to the square of its loss. Its
    direction becomes that of the feature, in the encoder with a fifth of the mean length of the
    other rows, so that the feature begins small, and its threshold becomes 0. The moments of
    its two directions in the optimizer become 0; those of its threshold are kept.

    Args:
        model: The autoencoder.
        x: Vectors to draw from.
        optimizer: Of the model, such as :class:`mathlm.optim.Adam`.
        seed: Of the draw.

    Returns:
        How many features were idle.

    Raises:
        InputError: If x is not (N, D), or not finite.

    Example:
        >>> x, sae = torch.randn(100, 8), SparseAutoencoder(d_model=8, features=64, active=4)
        >>> resample_idle(sae, x)  # none has been idle yet
        0

    References:
        Bricken et al. (2023), appendix "Neuron resampling".
    """
    require_vectors(x)
    idle = model.idle >= model.patience
    if not (count := int(idle.sum())):
        return 0
    was_training = model.training
    loss = (x - model.eval()(x).output).square().sum(-1)
    model.train(was_training)
    draw = torch.Generator().manual_seed(seed)
    odds = (loss / loss.max().clamp(min=torch.finfo(loss.dtype).tiny)).square().double().cpu()
    rows = torch.multinomial(odds + 1e-12, count, replacement=True, generator=draw)
    new = normalize(x[rows.to(x.device)] - model.offset, dim=1)  # (count, D)
    others = model.encoder[~idle].norm(dim=1)
    length = others.mean() if len(others) else model.encoder.new_ones(())
    model.decoder[:, idle], model.encoder[idle] = new.mT, 0.2 * length * new
    model.threshold[idle], model.idle[idle] = 0.0, 0
    if optimizer is not None:
        forget(optimizer, {model.decoder: (slice(None), idle), model.encoder: idle})
    log.info("%d of %d features were idle and got new directions", count, len(idle))
    return count


def forget(optimizer: torch.optim.Optimizer, parts: dict[Tensor, object]) -> None:
    """Set what an optimizer remembers of some entries of its parameters to 0."""
    for parameter, part in parts.items():
        for kept in optimizer.state.get(parameter, {}).values():
            if isinstance(kept, Tensor) and kept.shape == parameter.shape:
                kept[part] = 0.0  # type: ignore[index]


def require_batch_size(batch_size: int) -> None:
    """Refuse a batch of no vectors."""
    if type(batch_size) is not int or batch_size < 1:
        raise ConfigError(f"batch_size={batch_size} must be positive, and a whole number")


def require_vectors(x: Tensor) -> None:
    """Refuse what are no vectors, one in each row."""
    if not isinstance(x, Tensor):
        raise InputTypeError(f"vectors are a {type(x).__name__}: give a tensor (N, D)")
    if x.ndim != 2 or not x.numel():
        raise InputError(
            f"vectors {tuple(x.shape)} must be (N, D): x.flatten(0, -2) makes rows"
        )
    if not x.isfinite().all():
        raise InputError(f"of the {len(x)} vectors some hold NaN or infinity")


class DictionaryReport(NamedTuple):
    """How well, and with how much, an autoencoder codes some vectors.

    Args:
        explained: Share of their variance that the output explains; 1 = all.
        active: Features that a vector uses, on average.
        unused: Features that no vector uses.
        scale: γ, how large the output is where it should be; below 1, features are too small.
    """

    explained: float
    active: float
    unused: int
    scale: float


@torch.no_grad()
def dictionary_report(
    model: SparseAutoencoder, x: Float[Tensor, "N D"], batch_size: int = 4096
) -> DictionaryReport:
    """Measure an autoencoder on vectors, best on ones that it was not trained on.

    Computes::

        explained = 1 - Σ ‖x - x̂‖² / Σ ‖x - mean x‖²
        γ = Σ ‖x̂ - b‖² / Σ (x̂ - b)·(x - b)

    γ is the factor by which the output is too large: divided by it, x̂ - b comes nearest to
    x - b. Where nothing is active it is 1.

    Raises:
        InputError: If x is not (N, D), or all vectors are equal: there is no variance to
            explain.
        ConfigError: If the batch size is not positive.

    Example:
        >>> x, sae = torch.randn(100, 8), SparseAutoencoder(d_model=8, features=64, active=4)
        >>> dictionary_report(sae, x).active  # the four largest of each vector
        4.0

    References:
        Rajamanoharan et al. (2024), arXiv:2404.16014, section 2.3: the relative
        reconstruction bias γ.
    """
    require_batch_size(batch_size)
    require_vectors(x)
    centered = x - x.mean(0)
    total = float(centered.square().sum())
    if not 0 < total < torch.inf:
        what = "all are equal" if total == 0 else "some are too long to be squared"
        raise InputError(f"of the {len(x)} vectors {what}: there is no variance to explain")
    left = dot = square = uses = 0.0
    used = torch.zeros_like(model.idle, dtype=torch.bool)
    for part in x.split(batch_size):
        f = model.encode(part)
        output = model.decode(f)
        left += float((part - output).square().sum())
        dot += float(((part - model.offset) * (output - model.offset)).sum())
        square += float((output - model.offset).square().sum())
        uses += float((f > 0).sum())
        used |= (f > 0).any(0)
    scale = square / dot if dot else 1.0
    return DictionaryReport(1 - left / total, uses / len(x), int((~used).sum()), scale)


def matched_cosine(
    found: Float[Tensor, "M D"], true: Float[Tensor, "N D"]
) -> Float[Tensor, " N"]:
    """Cosine of each true direction with the found one that is paired with it.

    Each found direction is paired once at most. Pairs are made in order of their cosines, the
    largest first; a true direction that is left over when all found ones are taken has 0. The
    sign counts: a feature that is not negative cannot stand for the opposite direction.

    Args:
        found: Directions of a dictionary, of any length but 0.
        true: Directions to be found.

    Returns:
        One cosine for each true direction.

    Raises:
        InputError: If a direction has no length or is not finite, there are none, or the two
            are not equally wide.

    Example:
        >>> matched_cosine(torch.eye(3), 2 * torch.eye(3))
        tensor([1., 1., 1.])
    """
    for rows in (found, true):
        require_vectors(rows)
    if found.shape[1] != true.shape[1]:
        raise InputError(
            f"found is {tuple(found.shape)}, true {tuple(true.shape)}: widths differ"
        )
    for name, rows in (("found", found), ("true", true)):
        if not rows.any(1).all():
            raise InputError(f"{name} has a row of length 0, which has no direction")
    cosines = unit_rows(true) @ unit_rows(found).mT  # (N, M)
    matched = cosines.new_zeros(len(true))
    for _ in range(min(cosines.shape)):
        n, m = divmod(int(cosines.argmax()), cosines.shape[1])
        matched[n] = cosines[n, m]
        cosines[n], cosines[:, m] = -torch.inf, -torch.inf
    return matched


def unit_rows(rows: Float[Tensor, "N D"]) -> Float[Tensor, "N D"]:
    """Rows divided by their lengths, also where the square of an entry is 0 or infinite."""
    largest = rows.abs().amax(1, keepdim=True)
    usual = (largest > 1e-6) & (largest < torch.finfo(rows.dtype).max ** 0.25)
    return normalize(rows / largest.masked_fill(usual, 1.0), dim=1)


def top_contexts(features: Float[Tensor, "B T"], count: int) -> list[tuple[int, int, float]]:
    """Where a feature is largest, one place in each text.

    Args:
        features: Its value at each position of each text.
        count: Places, at most.

    Returns:
        Text, position and value, the largest first; places where it is 0 are left out.

    Raises:
        InputError: If ``count`` is no positive whole number, features are not (B, T), or a
            value is missing or not finite.

    Example:
        >>> top_contexts(torch.tensor([[0.0, 2.0], [5.0, 1.0]]), count=2)
        [(1, 0, 5.0), (0, 1, 2.0)]
    """
    fit = features.ndim == 2 and features.numel() and features.isfinite().all()
    if type(count) is not int or count < 1 or not fit:
        raise InputError(
            f"count={count} must be positive, and features {tuple(features.shape)} some finite "
            "numbers (B, T)"
        )
    best = features.max(-1)
    order = best.values.argsort(descending=True, stable=True)[:count].tolist()
    places = [(row, int(best.indices[row]), float(best.values[row])) for row in order]
    return [place for place in places if place[2] > 0]

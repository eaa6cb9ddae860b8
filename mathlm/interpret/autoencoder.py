"""A dictionary of directions, learned from vectors of which each uses only a few.

References:
    Bricken et al. (2023), Towards monosemanticity, transformer-circuits.pub.
    Gao et al. (2024), Scaling and evaluating sparse autoencoders, arXiv:2406.04093.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from ..errors import ConfigError, InputError, InputTypeError
from ..models import GPT
from ..shapes import Float
from .ablation import require_text, token_losses
from .recording import Watched, run
from .steering import require_tap


class Coded(NamedTuple):
    """What an autoencoder makes of some vectors.

    Args:
        output: The vectors put together again, (..., D).
        features: How much of each direction they have, (..., M); not negative, mostly 0.
        revival: What the features that have been idle for long would add, (..., D); None
            outside of training, or if none is idle.
    """

    output: Tensor
    features: Tensor
    revival: Tensor | None


class SparseAutoencoder(nn.Module):
    """Write a vector as a sum of few directions out of many.

    Implements eq-features-code::

        f = relu((x - b) W_eᵀ + c),   or only the ``active`` largest entries of that
        x̂ = f W_d + b,                every row of W_d of length 1

    Without ``active`` it is the loss that has to keep f sparse: see
    :class:`SparseReconstruction`. The length of 1 belongs to the formula, not to the training:
    whatever is stored in ``decoder`` is divided by its length where it is used. Without it, a
    penalty on f could be evaded by small features and long rows.

    In training each feature counts for how many vectors it has been 0. Those that reach
    ``patience`` are called idle, and go into ``Coded.revival``.

    Args:
        d_model: D, width of the vectors.
        features: M, directions in the dictionary.
        active: Features that a vector may use; None = as many as are positive.
        patience: Vectors after which a feature that none of them uses is idle.
        revived: Idle features, at most, that a vector uses in ``Coded.revival``.

    Attributes:
        encoder: W_e (M, D), at first the same directions as W_d.
        threshold: c (M).
        decoder: W_dᵀ before its columns are divided by their lengths, (D, M).
        offset: b (D); see :meth:`center`.
        idle: Vectors since each feature was last used, (M).

    Raises:
        ConfigError: If a size is not positive, or ``active`` is more than ``features``.

    Example:
        >>> sae = SparseAutoencoder(d_model=8, features=64, active=4)
        >>> coded = sae(torch.randn(100, 8))
        >>> int((coded.features != 0).sum(-1).max()) <= 4
        True

    References:
        Bricken et al. (2023), appendix "Advice for training sparse autoencoders".
        Gao et al. (2024), arXiv:2406.04093, sections 2.3 and A.2.
    """

    def __init__(
        self,
        d_model: int,
        features: int,
        *,
        active: int | None = None,
        patience: int = 10_000,
        revived: int = 32,
    ) -> None:
        super().__init__()
        sizes = {"d_model": d_model, "features": features, "patience": patience}
        for name, size in (sizes | {"revived": revived}).items():
            if type(size) is not int or size < 1:
                raise ConfigError(f"{name}={size} must be positive, and a whole number")
        if active is not None and (type(active) is not int or not 1 <= active <= features):
            raise ConfigError(f"active={active} must be from 1 to features={features}")
        self.active, self.patience, self.revived = active, patience, revived
        directions = normalize(torch.randn(features, d_model), dim=1)
        self.encoder = nn.Parameter(directions.clone())
        self.threshold = nn.Parameter(torch.zeros(features))
        self.decoder = nn.Parameter(directions.mT.clone())
        self.offset = nn.Parameter(torch.zeros(d_model))
        self.idle: Tensor
        self.register_buffer("idle", torch.zeros(features, dtype=torch.int64))

    @property
    def directions(self) -> Float[Tensor, "M D"]:
        """The rows of W_d: one direction of length 1 for each feature."""
        return normalize(self.decoder, dim=0).mT

    @torch.no_grad()
    def center(self, x: Float[Tensor, "*batch D"]) -> None:
        """Let the offset be the mean of some vectors: a good start for any training."""
        mean = self.require(x).flatten(0, -2).mean(0)
        if not mean.isfinite().all():
            raise InputError(f"x {tuple(x.shape)} holds NaN or infinity: it has no mean")
        self.offset.copy_(mean)

    def forward(self, x: Float[Tensor, "*batch D"]) -> Coded:
        """Code some vectors, and put them together again."""
        scores = self.scores(x)
        f = self.chosen(scores)
        output = self.decode(f)
        if not self.training:
            return Coded(output, f, None)
        self.count_idle(f)
        return Coded(output, f, self.revival(scores))

    def encode(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch M"]:
        """The features f of some vectors."""
        return self.chosen(self.scores(x))

    def decode(self, f: Float[Tensor, "*batch M"]) -> Float[Tensor, "*batch D"]:
        """The vectors x̂ that have these features."""
        if f.shape[-1] != len(self.encoder):
            raise InputError(f"f {tuple(f.shape)} must be (vectors, {len(self.encoder)})")
        return f @ self.directions + self.offset

    def scores(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch M"]:
        """(x - b) W_eᵀ + c."""
        return (self.require(x) - self.offset) @ self.encoder.mT + self.threshold

    def chosen(self, scores: Float[Tensor, "*batch M"]) -> Float[Tensor, "*batch M"]:
        """What is positive, or of that the largest."""
        return scores.relu() if self.active is None else largest(scores, self.active)

    @torch.no_grad()
    def count_idle(self, f: Float[Tensor, "*batch M"]) -> None:
        """Add the vectors just read to the count of every feature that none of them used."""
        rows = f.flatten(0, -2)
        self.idle.add_(len(rows)).masked_fill_((rows > 0).any(0), 0)

    def revival(self, scores: Float[Tensor, "*batch M"]) -> Float[Tensor, "*batch D"] | None:
        """What the best of the idle features would add to each vector."""
        idle = self.idle >= self.patience
        if not idle.any():
            return None
        f = largest(scores[..., idle], min(self.revived, int(idle.sum())))
        return f @ self.directions[idle]

    def require(self, x: Tensor) -> Tensor:
        """Refuse vectors of another width or kind, or on another device."""
        if not isinstance(x, Tensor):
            raise InputTypeError(f"x is a {type(x).__name__}: give a tensor (vectors, D)")
        D = len(self.offset)
        if x.ndim < 2 or x.shape[-1] != D or not x.numel():
            raise InputError(
                f"x {tuple(x.shape)} must be (vectors, {D}): the autoencoder has d_model={D}"
            )
        if x.dtype != self.offset.dtype:
            raise InputError(
                f"x is {x.dtype} and the autoencoder {self.offset.dtype}: convert one, as by "
                "x.to(model.offset)"
            )
        if x.device != self.offset.device:
            raise InputError(
                f"x is on {x.device} and the autoencoder on {self.offset.device}: move one, as "
                "by x.to(model.offset)"
            )
        return x


def largest(scores: Float[Tensor, "*batch M"], count: int) -> Float[Tensor, "*batch M"]:
    """The ``count`` largest entries of each row where they are positive, 0 elsewhere."""
    top = scores.topk(count, dim=-1)
    return torch.zeros_like(scores).scatter(-1, top.indices, top.values.relu())


@torch.no_grad()
def spliced_losses(
    model: GPT, ids: Tensor, at: str, change: Callable[[Tensor], Tensor]
) -> Float[Tensor, "B targets"]:
    """Loss of each token but the first, where the model goes on with a changed value.

    Computes::

        - ln p(x_t | x_0 … x_{t-1})   with   value ← change(value)   at one tap

    With what :class:`SparseAutoencoder` makes of a value, this says how much of what matters
    to the model is in the dictionary. The identity gives the model's own losses.

    Args:
        model: A GPT.
        ids: The text x, (B, T), T ≥ 2.
        at: Name of a tap through which vectors (B, T, D) pass, as in :class:`Steered`.
        change: From such vectors to others of the same shape.

    Returns:
        Losses of the T - 1 targets [nats]; nothing is averaged.

    Raises:
        InputError: If T is 1, there is no such tap, the shape changes, or what
            comes back is not finite.
        InputTypeError: If the model is no GPT, or what comes back is no tensor, or of another
            dtype or on another device.

    Example:
        >>> from mathlm.interpret import losses_without_heads
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105, 33]])
        >>> same = spliced_losses(model, ids, "blocks.0.resid_post", lambda value: value)
        >>> torch.allclose(same, losses_without_heads(model, ids), atol=1e-5)
        True
    """
    require_text(model, ids)
    require_tap(model, at)

    def watch(name: str, value: Tensor) -> Tensor:
        if name != at:
            return value
        changed = change(value)
        if not isinstance(changed, Tensor) or changed.dtype != value.dtype:
            found = changed.dtype if isinstance(changed, Tensor) else type(changed).__name__
            raise InputTypeError(f"change made {found} of {value.dtype} at {at!r}")
        if changed.device != value.device:
            raise InputTypeError(f"change put {at!r} from {value.device} on {changed.device}")
        if changed.shape != value.shape:
            raise InputError(
                f"change made {tuple(changed.shape)} of {tuple(value.shape)} at {at!r}: the "
                "shape must stay"
            )
        if not changed.isfinite().all():
            raise InputError(f"change made NaN or infinity at {at!r}")
        return changed

    return token_losses(run(model, ids[:, :-1], None, Watched(watch)), ids)

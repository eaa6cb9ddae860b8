"""Muon: momentum whose matrix is made nearly orthogonal before it is applied."""

from collections.abc import Iterable
from typing import Literal, cast

from torch import Tensor, nn
from torch.optim._muon import muon as muon_kernel

from ..errors import ConfigError, InputError
from ..shapes import Float
from .clipping import keep_part, whole
from .update import Update, check_decay, check_not_negative, check_positive

Scale = Literal["original", "match_rms_adamw"]
A, B, C = 3.4445, -4.7750, 2.0315


class Muon(Update):
    """Momentum whose matrix is made nearly orthogonal before it is applied.

    Implements eq-muon::

        m ← βm + (1-β)g
        u = (1-β)g + βm with Nesterov's look-ahead, else m
        X ← u / max(‖u‖, ε),   then five times   X ← aX + (b XXᵀ + c (XXᵀ)²) X
        θ ← (1 - ηλ) θ - ηr X

    with (a, b, c) = (3.4445, -4.7750, 2.0315), and r = √max(1, rows / columns) or
    0.2 √max(rows, columns), which gives the step the root mean square of one of AdamW. All
    singular values of X are near 1, so every direction of the matrix moves alike.

    Muon is for the matrices inside a network. Vectors, embeddings and the output layer belong
    to :class:`AdamW`. The state of a parameter is ``m`` and ``step``. Since X needs the whole
    matrix, each rank gathers a sharded one, does the work, and keeps its part of the result.

    Args:
        params: Matrices θ, updated in place, or groups of them with options of their own.
        lr: Step size η.
        momentum: Decay rate β in [0, 1) [1/step].
        weight_decay: λ, not multiplied by r.
        nesterov: Whether the step looks ahead.
        scale: Which r.
        eps: Smallest norm that u is divided by, ε > 0.
        fused: Whether torch's own function computes these lines, with X in bfloat16 whatever
            the dtype of the parameter; otherwise X has the dtype of the parameter.

    Raises:
        InputError: If a parameter is not a matrix.
        ConfigError: If a number is outside its range or ``scale`` is not known.
        InputTypeError: If a parameter is complex, or a gradient sparse.
        NonFiniteLossError: If a gradient holds NaN or infinity; nothing is updated.

    Example:
        >>> W = torch.nn.Parameter(torch.zeros(2, 2))
        >>> W.grad = torch.diag(torch.tensor([5.0, 0.1]))
        >>> Muon([W], lr=0.1, weight_decay=0.0, fused=False).step()
        >>> bool((W.data.diag() < -0.05).all())  # all directions move alike, the small one too
        True

    References:
        Jordan et al. (2024), Muon: an optimizer for hidden layers in neural networks; Liu et
        al. (2025), arXiv:2502.16982, for the second r.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict],
        lr: float = 1e-3,
        momentum: float = 0.95,
        weight_decay: float = 0.1,
        nesterov: bool = True,
        scale: Scale = "original",
        eps: float = 1e-7,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            weight_decay=weight_decay,
            nesterov=nesterov,
            scale=scale,
            eps=eps,
            fused=fused,
        )

    def slots(self, group: dict) -> tuple[str, ...]:
        """The momentum."""
        return ("m",)

    def check_group(self, group: dict) -> None:
        """Refuse parameters that are not matrices and numbers outside their range."""
        for p in group["params"]:
            if p.ndim != 2:
                raise InputError(
                    f"Muon orthogonalizes matrices, got a parameter of shape {tuple(p.shape)}: "
                    "give it to AdamW, together with embeddings and the output layer"
                )
        check_decay("momentum", group["momentum"])
        check_not_negative(group, "lr", "weight_decay")
        check_positive(group, "eps")
        step_scale(1, 1, group["scale"])

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        g, b, state = whole(cast(Tensor, p.grad)), group["momentum"], self.state[p]
        state["step"].add_(1)
        m = whole(state["m"]).lerp_(g, 1 - b)
        u = g.lerp(m, b) if group["nesterov"] else m
        r = step_scale(p.shape[0], p.shape[1], group["scale"])
        theta = whole(p)
        theta *= 1 - group["lr"] * group["weight_decay"]
        theta -= group["lr"] * r * orthogonalize(u, group["eps"])
        keep_part(state["m"], m)
        keep_part(p, theta)

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` by torch's own function, one at a time in full."""
        self.advance(params)
        for p in params:
            theta, g, m = whole(p), whole(cast(Tensor, p.grad)), whole(self.state[p]["m"])
            # without Nesterov's step the kernel scales a momentum of bfloat16 itself
            kept = m if group["nesterov"] else m.lerp(g, 1 - group["momentum"])
            muon_kernel(
                [theta],
                [g],
                [m],
                lr=group["lr"],
                weight_decay=group["weight_decay"],
                momentum=group["momentum"],
                nesterov=group["nesterov"],
                ns_coefficients=(A, B, C),
                ns_steps=5,
                eps=group["eps"],
                adjust_lr_fn=group["scale"],
                has_complex=False,
            )
            m.copy_(kept)
            keep_part(self.state[p]["m"], m)
            keep_part(p, theta)


def orthogonalize(u: Float[Tensor, "m n"], eps: float) -> Float[Tensor, "m n"]:
    """Push all singular values of ``u`` towards 1: five passes of a quintic Newton-Schulz."""
    X = u.mT if u.shape[0] > u.shape[1] else u
    X = X / X.norm().clamp(min=eps)
    for _ in range(5):
        gram = X @ X.mT
        X = A * X + (B * gram + C * gram @ gram) @ X
    return X.mT if u.shape[0] > u.shape[1] else X


def step_scale(rows: int, columns: int, scale: str) -> float:
    """Factor r of the step size."""
    scales = {
        "original": max(1, rows / columns) ** 0.5,
        "match_rms_adamw": 0.2 * max(rows, columns) ** 0.5,
    }
    if scale not in scales:
        raise ConfigError(f"scale={scale!r} is not known; it is one of {', '.join(scales)}")
    return scales[scale]

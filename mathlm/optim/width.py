"""Starts and rates that let one learning rate serve every width.

Source: Yang et al. (2022), Tensor programs V, arXiv:2203.03466, table 3, column of Adam.
"""

from collections.abc import Iterable
from typing import Any, Literal

import torch
from torch import nn

from ..errors import ConfigError

Role = Literal["input", "hidden", "output"]
Parametrization = Literal["standard", "mup"]

EXPONENTS: dict[str, dict[str, tuple[float, float]]] = {  # of the width: of the start, the rate
    "standard": {"input": (0.0, 0.0), "hidden": (-0.5, 0.0), "output": (-0.5, 0.0)},
    "mup": {"input": (0.0, 0.0), "hidden": (-0.5, -1.0), "output": (-1.0, -1.0)},
}


def width_role(name: str, p: nn.Parameter) -> Role:
    """Which sides of a parameter grow with the width.

    Vectors, biases and embeddings have one side that grows and read no sum over it: they are
    like inputs. The head sums over the width; other matrices have two sides that grow.

    Args:
        name: Name of the parameter, as ``named_parameters`` gives it.
        p: The parameter.

    Returns:
        "input", "hidden" or "output".
    """
    parts = name.split(".")  # a model may stand inside another: gpt.head.weight
    if p.ndim < 2 or "embedding" in name or "position" in parts:
        return "input"
    return "output" if "head" in parts else "hidden"


@torch.no_grad()
def scale_start(
    model: nn.Module, factor: float | int, kind: Parametrization = "mup"
) -> nn.Module:
    """Scale the drawn weights of a model as a width asks that is ``factor`` times the base.

    Computes, with m = width / base width::

        standard:  input 1,   hidden m^(-1/2),   output m^(-1/2)
        muP:       input 1,   hidden m^(-1/2),   output m^(-1)

    The standard deviations are then those of the base at m = 1, and the model is changed in
    place. Depth and the width of a head are the same at every width.

    Args:
        model: As it was drawn, with the same standard deviations as the base.
        factor: m, width over base width.
        kind: "mup" or "standard".

    Returns:
        The model.

    Raises:
        ConfigError: If the factor is not positive, the kind is unknown, or the head and the
            embedding are one matrix, which cannot start in two ways.

    Example:
        >>> import copy
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=64, context=16, d_model=16, n_layers=1, n_heads=2)
        >>> before = GPT(GPTConfig(**sizes, tie_embeddings=False))
        >>> after = scale_start(copy.deepcopy(before), factor=4)
        >>> torch.allclose(after.head.weight, before.head.weight / 4)  # m⁻¹
        True
    """
    exponents = exponents_of(kind, factor)
    for name, p in separate(model):
        p.mul_(factor ** exponents[width_role(name, p)][0])
    return model


def width_groups(
    model: nn.Module, lr: float, factor: float | int, kind: Parametrization = "mup"
) -> list[dict[str, Any]]:
    """Groups of parameters whose rates suit a width, for Adam and its kin.

    Computes, with m = width / base width::

        standard:  η for all
        muP:       input η,   hidden η / m,   output η / m

    Each update of Adam has entries near η, whatever the gradient. A sum over m times as many
    of them, all of which point where the gradient asked, grows with m: so the rate falls with
    it. Use the groups with :func:`scale_start`. A trainer with a schedule multiplies its rate
    by the ``lr_scale`` of each group; a loop of your own has to.

    Args:
        model: What is trained.
        lr: Rate η that is best at the base width.
        factor: m, width over base width.
        kind: "mup" or "standard".

    Returns:
        Groups with ``params``, ``lr`` and ``lr_scale``, one for each rate.

    Raises:
        ConfigError: As :func:`scale_start`.

    Example:
        >>> from torch import nn
        >>> [group["lr"] for group in width_groups(nn.Linear(4, 4), lr=0.5, factor=2)]
        [0.25, 0.5]
    """
    exponents = exponents_of(kind, factor)
    groups: dict[float, list[nn.Parameter]] = {}
    for name, p in separate(model):
        scale = float(factor ** exponents[width_role(name, p)][1])
        groups.setdefault(scale, []).append(p)
    return [{"params": p, "lr": lr * scale, "lr_scale": scale} for scale, p in groups.items()]


def exponents_of(kind: str, factor: float | int) -> dict[str, tuple[float, float]]:
    """The row of the table, for a factor that is one."""
    if kind not in EXPONENTS:
        raise ConfigError(f"kind={kind!r} must be one of {', '.join(map(repr, EXPONENTS))}")
    if not 0 < factor < float("inf"):
        raise ConfigError(f"factor={factor} must be positive: the width over the base width")
    return EXPONENTS[kind]


def separate(model: nn.Module) -> Iterable[tuple[str, nn.Parameter]]:
    """Parameters by name; refuses a head that is the embedding too."""
    names: dict[int, str] = {}
    for name, p in model.named_parameters(remove_duplicate=False):
        if id(p) in names:
            raise ConfigError(
                f"{names[id(p)]} and {name} are one parameter, and width asks two things of "
                "it: build the model with tie_embeddings=False"
            )
        names[id(p)] = name
    return list(model.named_parameters())

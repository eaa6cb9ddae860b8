"""The exponential moving average (EMA) of the weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from ..optim.clipping import local
from .parallel import unwrap

HALF = (torch.float16, torch.bfloat16)


class Averages:
    """An exponential moving average (EMA) of the weights, often better than the last ones.

    Implements eq-weight-mean::

        θ̄ ← d θ̄ + (1 - d) θ   after each step; θ̄ = θ before the first

    The weight of the past falls by half in ln 2 / (1 - d) steps, about. Buffers and frozen
    weights are not averaged. Weights of 16 bits are averaged in float32. Of a sharded weight
    each rank keeps the mean of its part.

    Args:
        model: The model, before or after it was distributed.
        decay: d, in (0, 1).

    Attributes:
        values: The means under the names of the parameters; a tied weight stands there once.

    Example:
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> averages, before = Averages(model, decay=0.75), model.weight.item()
        >>> model.weight.data += 1.0
        >>> averages.update()
        >>> with averages.swapped():
        ...     round(model.weight.item() - before, 4)  # a quarter of the way
        0.25
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model, self.decay = unwrap(model), decay
        self.values: dict[str, Tensor] = {}
        self.restart()

    def restart(self) -> None:
        """Take the weights as they are for their mean."""
        self.values = {name: wide(p).clone() for name, p in self.weights()}

    def weights(self) -> list[tuple[str, Tensor]]:
        """The trained weights of the model, by name."""
        named = self.model.named_parameters()
        return [(name, p.detach()) for name, p in named if p.requires_grad]

    def update(self) -> None:
        """Move the means towards the weights."""
        for name, p in self.weights():
            local(self.values[name]).lerp_(wide(local(p)), 1 - self.decay)

    @contextmanager
    def swapped(self) -> Iterator[None]:
        """Within it, the model has the means for weights; after it, its own again."""
        own = {name: p.clone() for name, p in self.weights()}
        try:
            self.give(self.values)
            yield
        finally:
            self.give(own)

    def state_dict(self) -> dict[str, Tensor]:
        """The means, by name."""
        return dict(self.values)

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take the means that :meth:`state_dict` returned."""
        for name, mean in self.values.items():
            local(mean).copy_(local(state[name]))

    def give(self, values: Mapping[str, Tensor]) -> None:
        """Copy ``values`` into the weights."""
        for name, p in self.weights():
            local(p).copy_(local(values[name]))


def wide(p: Tensor) -> Tensor:
    """``p`` in 32 bits at least."""
    return p.float() if p.dtype in HALF else p

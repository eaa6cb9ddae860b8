"""ZeRO, written out: data parallelism without the copies, in three stages."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from mathlm.errors import ConfigError
from mathlm.train.distributed import rank, ranks

from .rings import all_gather, all_reduce, reduce_scatter


class ZeroAdam:
    """Adam on several ranks, each of which may hold but one n-th of what Adam needs.

    Computes::

        stage 0   every rank holds all; all_reduce(g)
        stage 1   parts of m and v;     reduce_scatter(g), after backward, then all_gather(θ)
        stage 2   parts of g, m, v;     reduce_scatter(g), layer by layer, then all_gather(θ)
        stage 3   parts of θ, g, m, v;  all_gather(θ) of each layer before it is used, forward
                                        and backward; reduce_scatter(g), layer by layer

    All stages compute the same numbers as one process. The backward pass computes each layer
    anew from its input, so that one layer's parameters and gradient exist in full at a time.
    What is here is the idea: :func:`mathlm.train.distribute` is what trains.

    Args:
        layers: The network, one layer after the other; equal on every rank.
        stage: 0 to 3.
        lr: Step size η.
        betas: Decay rates of the two moments.
        eps: ε.

    Raises:
        ConfigError: If there is no such stage.

    References:
        Rajbhandari et al. (2020), arXiv:1910.02054, sections 5 and 7.
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        stage: int,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        if stage not in range(4):
            raise ConfigError(f"stage={stage} must be 0, 1, 2 or 3")
        self.layers, self.stage = list(layers), stage
        self.lr, self.betas, self.eps, self.t = lr, betas, eps, 0
        whole = [flat(layer) for layer in self.layers]
        self.theta = [own_part(v) if stage == 3 else v for v in whole]
        held = [own_part(v) if stage else v for v in whole]
        self.m, self.v = ([torch.zeros_like(v) for v in held] for _ in range(2))
        self.gradients: list[Tensor] = []

    def weights(self, i: int) -> Tensor:
        """All parameters of layer ``i`` as one vector, gathered in stage 3."""
        return all_gather(self.theta[i]) if self.stage == 3 else self.theta[i]

    def compute(self, i: int, theta: Tensor, x: Tensor) -> Tensor:
        """Layer ``i`` with the parameters ``theta``, applied to ``x``."""
        return functional_call(self.layers[i], named_parts(self.layers[i], theta), (x,))

    def step(self, x: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
        """One step; returns this rank's share of the loss.

        Args:
            x: This rank's share of the batch.
            loss: Output of the last layer to this rank's share of the loss; the loss that is
                minimized is the sum over ranks.
        """
        inputs = []
        for i in range(len(self.layers)):
            inputs.append(x)
            with torch.no_grad():
                x = self.compute(i, self.weights(i), x)
        value, dx = value_and_gradient(loss, x)
        self.backward(inputs, dx)
        self.update()
        return value

    def backward(self, inputs: list[Tensor], dx: Tensor) -> None:
        """Gradient of each layer, in parts from stage 2 on."""
        self.gradients = [torch.empty(0)] * len(inputs)
        for i in reversed(range(len(inputs))):
            theta = self.weights(i).detach().requires_grad_()
            if inputs[i].is_floating_point():
                inputs[i] = inputs[i].detach().requires_grad_()
                y = self.compute(i, theta, inputs[i])
                dx, g = torch.autograd.grad(y, [inputs[i], theta], dx)
            else:  # token ids have no gradient
                (g,) = torch.autograd.grad(self.compute(i, theta, inputs[i]), [theta], dx)
            self.gradients[i] = reduce_scatter(g) if self.stage >= 2 else g

    def update(self) -> None:
        """Adam, each rank on what it holds of m and v."""
        self.t += 1
        for i, g in enumerate(self.gradients):
            if self.stage < 2:
                g = reduce_scatter(g) if self.stage else all_reduce(g)
            part = own_part(self.theta[i]) if self.stage in {1, 2} else self.theta[i]
            part -= self.change(i, g)
            self.theta[i] = all_gather(part) if self.stage in {1, 2} else part

    def change(self, i: int, g: Tensor) -> Tensor:
        """η m̂ / (√v̂ + ε) of layer ``i``."""
        b1, b2 = self.betas
        m = self.m[i].lerp_(g, 1 - b1)
        v = self.v[i].lerp_(g.square(), 1 - b2)
        m_hat, v_hat = m / (1 - b1**self.t), v / (1 - b2**self.t)
        return self.lr * m_hat / (v_hat.sqrt() + self.eps)

    def held_bytes(self) -> dict[str, int]:
        """Bytes that this rank keeps: ``parameters``, ``gradients`` and ``moments``.

        One layer in full, which passes by, is not counted.
        """
        kept = {"parameters": self.theta, "gradients": self.gradients}
        kept["moments"] = [*self.m, *self.v]
        return {name: sum(t.nbytes for t in tensors) for name, tensors in kept.items()}

    def parameters(self) -> Tensor:
        """All parameters of all layers as one vector, without the padding."""
        whole = [self.weights(i) for i in range(len(self.layers))]
        sizes = [sum(p.numel() for p in layer.parameters()) for layer in self.layers]
        return torch.cat([v[:size] for v, size in zip(whole, sizes, strict=True)])


def flat(layer: nn.Module) -> Tensor:
    """The parameters of ``layer`` as one vector, with zeros until its length divides by n."""
    vector = nn.utils.parameters_to_vector(layer.parameters()).detach()
    return nn.functional.pad(vector, (0, -len(vector) % ranks()))


def own_part(vector: Tensor) -> Tensor:
    """This rank's n-th of ``vector``, a copy."""
    return vector.chunk(ranks())[rank()].clone()


def named_parts(layer: nn.Module, vector: Tensor) -> dict[str, Tensor]:
    """The parameters of ``layer``, by name, as views of ``vector``."""
    named, start = {}, 0
    for name, p in layer.named_parameters():
        named[name] = vector[start : start + p.numel()].view_as(p)
        start += p.numel()
    return named


def value_and_gradient(loss: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    """The value of ``loss`` at ``x``, and its gradient there."""
    x = x.detach().requires_grad_()
    value = loss(x)
    return value.detach(), torch.autograd.grad(value, x)[0]

"""What the forms of Adam share: two running means, and the arguments of torch's kernels."""

from collections.abc import Callable

from torch import nn

from .update import Update, gradients, values


class TwoMoments(Update):
    """An optimizer that keeps running means of the gradient and of its square."""

    def slots(self, group: dict) -> tuple[str, ...]:
        """Both moments."""
        return ("m", "v")

    def call_kernel(self, kernel: Callable, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` in one pass over the memory."""
        b1, b2 = group["betas"]
        kernel(
            values(params),
            gradients(params),
            self.tensors(params, "m"),
            self.tensors(params, "v"),
            [],
            self.tensors(params, "step"),
            fused=True,
            amsgrad=False,
            beta1=b1,
            beta2=b2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )

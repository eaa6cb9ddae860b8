"""Reference solution of the project of this page: a circuit and a route, by patching."""

from collections.abc import Callable

from torch import Tensor

from mathlm import interpret
from mathlm.models import GPT


def my_circuit(
    model: GPT, clean: Tensor, corrupt: Tensor, metric: Callable[[Tensor], Tensor]
) -> set[tuple[int, int]]:
    """Heads whose clean value changes the metric of the corrupt run, in either direction."""
    start, end = float(metric(model(corrupt))), float(metric(model(clean)))
    if start == end:
        return set()
    table = interpret.activation_patching(model, clean, corrupt, metric, "attention.heads")
    change = (table - start) / (end - start)  # (layers, H)
    return {(layer, head) for layer, head in (change.abs() > 0.05).nonzero().tolist()}


def my_route(
    model: GPT,
    clean: Tensor,
    corrupt: Tensor,
    metric: Callable[[Tensor], Tensor],
    sender: tuple[int, int],
    receiver: tuple[int, int],
) -> str:
    """The input of the receiver that changes the metric most if it alone hears the sender."""
    start = float(metric(model(corrupt)))
    name = f"blocks.{sender[0]}.attention.heads.{sender[1]}"

    def effect(letter: str) -> float:
        at = f"blocks.{receiver[0]}.attention.{letter}"
        z = interpret.path_patch(model, corrupt, clean, [name], at, [receiver[1]])
        return abs(float(metric(z)) - start)

    return max("qkv", key=effect)

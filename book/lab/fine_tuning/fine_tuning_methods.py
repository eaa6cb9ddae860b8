"""Ways of tuning a model that already knows something, each ready for the same training loop.

Their names are the choices of ``python -m lab.fine_tuning.fine_tuning_study --methods``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from . import fine_tuning_starts as begin
from .fine_tuning_starts import Prepared, Start

LADDER = tuple(float(f"{d}e{e}") for e in range(-6, 1) for d in (1, 3))  # step sizes


@dataclass(frozen=True)
class Method:
    """A way of tuning.

    Args:
        prepare: Sets requires_grad of what is trained; returns the objective and the data.
        step_size: Where the search for the best one begins.
    """

    prepare: Callable[[Start], Prepared]
    step_size: float


METHODS = {
    "full": Method(begin.full, 1e-3),
    **{
        f"towards start {w:g}": Method(partial(begin.towards, weight=w), 1e-3)
        for w in (0.001, 0.01, 0.1)
    },
    **{f"replay {s:g}": Method(partial(begin.replay, share=s), 1e-3) for s in (0.1, 0.3)},
    "last block": Method(begin.last_block, 1e-3),
    "norms": Method(begin.norms, 1e-2),
    "markers": Method(begin.markers, 1e-2),
    **{f"LoRA {r}": Method(partial(begin.lora, rank=r), 3e-3) for r in (1, 4, 16, 64)},
    "rsLoRA 64": Method(partial(begin.lora, rank=64, alpha=16.0, stabilized=True), 1e-3),
    **{
        f"LoRA {r}, markers": Method(
            partial(begin.markers, before=partial(begin.lora, rank=r)), 3e-3
        )
        for r in (4, 16, 64)
    },
    "bottleneck 16": Method(partial(begin.bottleneck, width=16), 3e-3),
    "gated prefix 16": Method(partial(begin.prefix, length=16, gated=True), 1e-2),
    "prefix 16": Method(partial(begin.prefix, length=16, gated=False), 1e-2),
    "prompt 16": Method(partial(begin.prompt, length=16), 1e-2),
}

"""Random attention and feed-forward maps, stacked in several ways.

Weights are normal, of variance 1/inputs, or 2/inputs after ReLU: a feed-forward network keeps
the mean square.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mathlm.errors import ConfigError, InputError
from mathlm.layers import FeedForward, SelfAttention

from .block_kinds import deep_norm_constants
from .collapse import token_spread

Map = Callable[[Tensor], Tensor]


def normalize(x: Tensor) -> Tensor:
    """Layer normalization with gain 1 and bias 0."""
    return F.layer_norm(x, x.shape[-1:])


STACKS: dict[str, Callable[[Tensor, Map, Map], Tensor]] = {
    "plain": lambda x, a, f: f(a(x)),
    "residual": lambda x, a, f: (y := x + a(x)) + f(y),
    "pre-norm": lambda x, a, f: (y := x + a(normalize(x))) + f(normalize(y)),
    "post-norm": lambda x, a, f: normalize((y := normalize(x + a(x))) + f(y)),
    "attention-only": lambda x, a, f: a(x),
    "branch-norm": lambda x, a, f: (y := x + normalize(a(x))) + normalize(f(y)),
}
FIRST = ("plain", "residual", "pre-norm", "post-norm", "attention-only")


def step_of(kind: str, depth: int) -> Callable[[Tensor, Map, Map], Tensor]:
    """One block of a kind; "deep-norm" is post-norm with α times the stream, α from the depth.

    Raises:
        ConfigError: If the kind is not known.
    """
    if kind == "deep-norm":
        alpha = deep_norm_constants(depth)[0]
        return lambda x, a, f: normalize(
            alpha * (y := normalize(alpha * x + a(x))) + f(y),
        )
    if kind not in STACKS:
        raise ConfigError(f"kind={kind!r} is not one of {', '.join(STACKS)}, deep-norm")
    return STACKS[kind]


def random_maps(
    count: int,
    d_model: int,
    n_heads: int,
    seed: int,
    gain: float = 1.0,
    normalized: bool = False,
) -> list[tuple[Map, Map]]:
    """Attention of all to all, and a ReLU network of width 4 D, ``count`` times, in float64.

    Gradients go through the maps, and none is kept for their weights.

    Args:
        count: Blocks.
        d_model: Width D.
        n_heads: Heads of each attention.
        seed: Of the weights.
        gain: Factor of what each map gives.
        normalized: Whether queries and keys are normalized in each head.
    """

    def scaled(module: nn.Module) -> Map:
        return lambda y: gain * module(y, taps={})  # taps: by softmax, which bears huge scores

    modules = _random_modules(count, d_model, n_heads, seed, normalized)
    return [(scaled(attention), scaled(feed_forward)) for attention, feed_forward in modules]


@lru_cache(maxsize=6)  # stacks of several kinds are made of the same maps
def _random_modules(
    count: int, d_model: int, n_heads: int, seed: int, normalized: bool
) -> list[tuple[SelfAttention, FeedForward]]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        modules = []
        for _ in range(count):
            attention = SelfAttention(d_model, n_heads, causal=False, qk_norm=normalized)
            feed_forward = FeedForward(d_model, 4 * d_model, "relu", bias=False)
            for name, p in (*attention.named_parameters(), *feed_forward.named_parameters()):
                after_relu = name == "W_out.weight"
                if p.ndim == 2:
                    nn.init.normal_(p, std=math.sqrt((1 + after_relu) / p.shape[1]))
            for module in (attention, feed_forward):
                module.double().requires_grad_(False)
            modules.append((attention, feed_forward))
    return modules


def profile(kind: str, maps: Sequence[tuple[Map, Map]], x: Tensor, dy: Tensor) -> dict:
    """Size, spread and gradient of the stream before each block and after the last.

    Computes::

        rms[l] = √mean(x_l²),   spread[l] = mean of token_spread(x_l) over the sequences
        gradient[l] = ‖∂⟨dy, x_L⟩/∂x_l‖ / ‖dy‖,   l = 0 … L

    Args:
        kind: One of ``STACKS``, or "deep-norm".
        maps: Attention and feed-forward network of each of the L blocks.
        x: The stream at the bottom (B, T, D).
        dy: Gradient of a loss in the stream at the top, of the same shape.

    Returns:
        The kind, L as ``depth``, and three lists of L + 1 numbers.

    Raises:
        ConfigError: If the kind is not known.
        InputError: If dy is 0 everywhere, or a stream has no spread.
    """
    block = step_of(kind, len(maps))
    if not dy.any():
        raise InputError(f"dy {tuple(dy.shape)} is 0 everywhere: there is no gradient")
    stream = [x.detach().requires_grad_()]
    for attention, feed_forward in maps:
        stream.append(block(stream[-1], attention, feed_forward))
    gradients = torch.autograd.grad(stream[-1], stream, dy)
    return {
        "kind": kind,
        "depth": len(maps),
        "rms": [y.square().mean().sqrt().item() for y in stream],
        "spread": [token_spread(y).mean().item() for y in stream],
        "gradient": [(g.norm() / dy.norm()).item() for g in gradients],
    }

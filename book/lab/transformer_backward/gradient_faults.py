"""Faults of the backward passes of heads, blocks, stacks, tables, and of both passes alike."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from mathlm.reference.network import block, decoder_block, heads, stacks, transformer

from .layer_faults import LAYER_FAULTS, Fault, Make, after, with_entry, without_output


def without_argument(i: int) -> Make:
    """Argument number i is None: no mask."""
    return lambda f: lambda *args: f(*args[:i], None, *args[i + 1 :])


def around_W_o(f: Any) -> Any:
    """The gradient passes by the matrix that mixes the heads."""
    return lambda dy, c, name: (dy, f(dy, c, name)[1]) if name == "W_o" else f(dy, c, name)


def unrooted(dy: Any, cache: Any, dE: Any) -> Any:
    """Rows of a table lose the factor √D on the way back."""
    return dE / dE.shape[-1] ** 0.5


def by_values(f: Any) -> Any:
    """Keys send nothing back to a memory: their matrix is 0 on the way back."""

    def wrong(dy: Any, cache: Any) -> Any:
        *head, is_self, (q, (x, W, shifted), *rest) = cache
        return f(dy, cache if is_self else (*head, is_self, (q, (x, 0 * W, shifted), *rest)))

    return wrong


def not_summed(f: Any) -> Any:
    """The memory hears from the first block of the decoder only."""

    def wrong(dy: Any, caches: Any) -> Any:
        dx, _, gradients = f(dy, caches)
        later, *_ = f(dy, caches[1:])
        return dx, f(later, caches[:1])[1], gradients

    return wrong


def overwritten_rows(f: Any) -> Any:
    """A row keeps what arrives last."""

    def wrong(dy: Any, cache: Any) -> Any:
        ids, shape = cache
        dtable = np.zeros(shape)
        dtable[ids] = dy
        return dtable

    return wrong


def last_table(f: Any) -> Any:
    """A shared table hears from the head only."""
    return lambda self, dsource, dtarget, dhead: {"source_embedding.weight": dhead}


HEADS, STACK = "multi_head_attention_backward", "decoder_backward"
EMBED, POST_NORM = "positioned_embedding_backward", "post_norm_block_backward"
minus_dy = after(lambda dy, cache, out: (out[0] - dy, *out[1:]))
plus_dy = after(lambda dy, cache, out: (out[0] + dy, *out[1:]))
later = lambda f: lambda length, D: f(length + 1, D)[1:]  # noqa: E731
FAULTS: dict[str, Fault] = LAYER_FAULTS | {
    "W_o passed by": Fault(heads, "named_linear_backward", "dH = dY", around_W_o),
    "residual forgotten": Fault(block, HEADS, "dx = attention'ᵀ dr", minus_dy),
    "residual counted twice": Fault(
        decoder_block, HEADS, "dx = 2 dr + attention'ᵀ dr", plus_dy
    ),
    "dropout forgotten": Fault(
        stacks, POST_NORM, "df = ds, dropped or not", with_entry(3, None)
    ),
    "encoder hears nothing": Fault(
        stacks, "decoder_block_backward", "dm = 0", without_output(1)
    ),
    "encoder hears values only": Fault(decoder_block, HEADS, "dm = dV W_v", by_values),
    "encoder hears one block": Fault(
        transformer, STACK, "dm is that of the first block", not_summed
    ),
    "encoder from the front": Fault(
        stacks, "_last_first", "block 0 first", lambda f: enumerate
    ),
    "repeated token once": Fault(
        stacks, "embedding_backward", "dE[ids] = dy, not +=", overwritten_rows
    ),
    "√D forgotten": Fault(transformer, EMBED, "dE[v] = Σ dx", after(unrooted)),
    "shared table not summed": Fault(
        transformer.Transformer, "_sum_tables", "dE = dW_head", last_table
    ),
    "√D in neither pass": Fault(
        stacks, "math", "x = E[id] + P", lambda f: SimpleNamespace(sqrt=lambda D: 1.0)
    ),
    "positions from 1": Fault(stacks, "sinusoidal_table", "x_t = √D E[id_t] + P[t + 1]", later),
    "future not hidden": Fault(
        stacks, "decoder_block", "self-attention without mask", without_argument(4)
    ),
    "padding not hidden": Fault(
        stacks, "decoder_block", "cross-attention without mask", without_argument(5)
    ),
}

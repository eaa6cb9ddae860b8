"""How many numbers a model learns, counted from its configuration."""

import itertools
from collections.abc import Callable
from typing import Any, Literal, overload

from ..checks import require_counts
from ..errors import InputTypeError
from ..layers.feedforward import GATES
from ..models import (
    BertConfig,
    GPTConfig,
    MixtureConfig,
    MLPConfig,
    RecurrentConfig,
    TransformerConfig,
)

Parts = dict[str, int]
CELL_MAPS = {"rnn": 1, "gru": 3, "lstm": 4}  # linear maps of input and of state in a cell
RELATIVE_BUCKETS = 32  # rows of the table of relative positions


@overload
def count_parameters(config: Any, *, by_part: Literal[False] = False) -> int: ...
@overload
def count_parameters(config: Any, *, by_part: Literal[True]) -> Parts: ...
def count_parameters(config: Any, *, by_part: bool = False) -> int | Parts:
    """Numbers that the model of a configuration learns; nothing is made.

    Implements eq-arch-parameters, for a GPT with biases, layer normalization and learned
    positions::

        V D + S D  +  L (4 D² + 4 D  +  2 D F + F + D  +  4 D)  +  2 D  +  V D if not tied
        tokens  positions    attention     feed-forward    norms

    Matrices dominate: with F = 4 D a block has 12 D² of them. A weight that two parts share is
    counted once, where it is first; a tied head counts 0.

    Args:
        config: A ``GPTConfig``, ``MixtureConfig``, ``BertConfig``, ``TransformerConfig``,
            ``RecurrentConfig`` or ``MLPConfig``.
        by_part: Whether to return one count for each part of the model.

    Returns:
        The number of entries of ``model.parameters()``, or a dictionary of those of each part,
        in the order of the computation.

    Raises:
        InputTypeError: If it is no such configuration.

    Example:
        >>> from mathlm.models import PRESETS
        >>> count_parameters(PRESETS["gpt2"])
        124439808
    """
    parts = entry_of(PARTS, config)(config)
    return parts if by_part else sum(parts.values())


def entry_of(table: dict[type, Any], config: Any) -> Any:
    """What a table holds for the type of a configuration."""
    if type(config) not in table:
        known = ", ".join(kind.__name__ for kind in table)
        raise InputTypeError(f"config is a {type(config).__name__}; counted are {known}")
    return table[type(config)]


def affine(n_in: int, n_out: int, bias: bool) -> int:
    """Entries of a linear map."""
    return n_in * n_out + (n_out if bias else 0)


def attention(D: int, H: int, G: int, K: int, bias: bool | str) -> int:
    """Entries of W_q, of W_k and W_v, and of W_o, with biases on all, "qkv" or none."""
    reads = affine(D, (H + 2 * G) * K, bool(bias))
    return reads + affine(H * K, D, bias is True)


def feed_forward(D: int, F: int, bias: bool, gated: bool = False) -> int:
    """Entries of W_in, of W_gate where there is one, and of W_out."""
    return affine(D, 2 * F if gated else F, bias) + affine(F, D, bias)


def gpt(config: GPTConfig) -> Parts:
    """Parts of a :class:`mathlm.models.GPT`."""
    D, L, V, K = config.d_model, config.n_layers, config.vocab_size, config.head_width
    bias = config.bias is True
    heads = attention(D, config.n_heads, config.kv_heads, K, config.bias)
    between = feed_forward(D, config.ff_width, bias, config.activation in GATES)
    tables = {"learned": config.context * D, "relative": RELATIVE_BUCKETS * config.n_heads}
    norm = 2 * D if config.norm == "layer" and bias else D
    return {
        "token_embedding": V * D,
        "position": tables.get(config.position, 0),
        "attention": L * (heads + beside_heads(config)),
        "feed_forward": L * between,
        "norms": (norms_of_block(config) * L + 1) * norm,
        "head": 0 if config.tie_embeddings else V * D,
    }


def beside_heads(config: GPTConfig) -> int:
    """Entries of attention that are in no map of plain heads: gains, a gate, and sinks."""
    variant, H, K = config.variant, config.n_heads, config.head_width
    gains = 2 * K if config.qk_norm else 0
    if variant is None:
        return gains
    if config.qk_norm and variant.qk_norm_over == "all":
        gains = (H + config.kv_heads) * K
    return gains + variant.gate * config.d_model * H * K + variant.sinks * H


def norms_of_block(config: GPTConfig) -> int:
    """Normalizations of the stream in a block: 2, or 4 where a branch has two."""
    return 4 if config.variant is not None and config.variant.placement == "both" else 2


def mixture(config: MixtureConfig) -> Parts:
    """Parts of a :class:`mathlm.models.MixtureGPT`: all experts, and the routers."""
    return _with_experts(config, config.n_experts)


def active_parameters(config: MixtureConfig) -> int:
    """Parameters that one token uses in a model with experts.

    Implements eq-moe-active::

        N_active = N_total - 3 L (E - k) F D

    The tables of tokens are counted whole, and so is the router, which scores every expert.

    Args:
        config: Of the model.

    Returns:
        N_active, by the count of :func:`count_parameters`.

    Raises:
        InputTypeError: If it is no ``MixtureConfig``.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> from mathlm.scaling import count_parameters
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4, d_ff=8)
        >>> gpt = GPTConfig(**sizes, norm="rms", activation="swiglu", bias=False)
        >>> config = MixtureConfig(gpt=gpt, n_experts=4, top_k=2)
        >>> count_parameters(config) - active_parameters(config)  # 3 · 2 · (4 - 2) · 8 · 32
        3072
    """
    if not isinstance(config, MixtureConfig):
        raise InputTypeError(f"config is a {type(config).__name__}, expected a MixtureConfig")
    return sum(_with_experts(config, config.top_k).values())


def _with_experts(config: MixtureConfig, experts: int) -> Parts:
    """Parts of a mixture of which so many experts are counted in each block."""
    parts, c = gpt(config.gpt), config.gpt
    parts["feed_forward"] *= experts + config.n_shared
    return parts | {"router": c.n_layers * config.n_experts * c.d_model}


def bert(config: BertConfig) -> Parts:
    """Parts of a :class:`mathlm.models.Bert`, which has no head."""
    D, L, H = config.d_model, config.n_layers, config.n_heads
    return {
        "token_embedding": config.vocab_size * D,
        "position": config.context * D,
        "segment_embedding": config.n_segments * D,
        "attention": L * attention(D, H, H, D // H, bias=True),
        "feed_forward": L * feed_forward(D, config.ff_width, bias=True),
        "norms": (2 * L + 1) * 2 * D,
    }


def transformer(config: TransformerConfig) -> Parts:
    """Parts of a :class:`mathlm.models.Transformer`, those of a block for each stack."""
    D, H, K, F = config.d_model, config.n_heads, config.head_width, config.ff_width
    heads = attention(D, H, H, K, config.bias)
    between = feed_forward(D, F, config.bias, config.activation in GATES)
    norm = 2 * D if config.norm == "layer" and config.bias else D
    last = 1 if config.norm_first else 0
    shared = config.tie_embeddings in ("inputs", "all")
    tied = config.tie_embeddings in ("target", "all")
    tables = {"learned": config.context * D, "relative": config.n_buckets * H}
    encoder, decoder = config.n_layers, config.decoder_layers
    return {
        "source_embedding": config.vocab_size * D,
        "target_embedding": 0 if shared else config.target_vocab * D,
        "position": 2 * tables.get(config.position, 0),
        "encoder.attention": encoder * heads,
        "encoder.feed_forward": encoder * between,
        "encoder.norms": (2 * encoder + last) * norm,
        "decoder.attention": decoder * heads,
        "decoder.cross_attention": decoder * heads,
        "decoder.feed_forward": decoder * between,
        "decoder.norms": (3 * decoder + last) * norm,
        "head": 0 if tied else config.target_vocab * D,
    }


def recurrent(config: RecurrentConfig) -> Parts:
    """Parts of a :class:`mathlm.models.Recurrent`; its cells have two biases."""
    D, V = config.d_model, config.vocab_size
    return {
        "token_embedding": V * D,
        "layers": config.n_layers * CELL_MAPS[config.kind] * 2 * affine(D, D, bias=True),
        "head": V if config.tie_embeddings else affine(D, V, bias=True),
    }


def mlp(config: MLPConfig) -> Parts:
    """Parts of a :class:`mathlm.models.MLP`: its linear maps."""
    pairs = enumerate(itertools.pairwise(config.widths))
    return {f"layers.{i}": affine(n, m, config.bias) for i, (n, m) in pairs}


PARTS: dict[type, Callable[[Any], Parts]] = {
    GPTConfig: gpt,
    MixtureConfig: mixture,
    BertConfig: bert,
    TransformerConfig: transformer,
    RecurrentConfig: recurrent,
    MLPConfig: mlp,
}


def kv_cache_bytes(
    config: GPTConfig, tokens: int, batch: int = 1, bytes_per_number: int = 2
) -> int:
    """Memory of the keys and values that a model keeps while it writes.

    Implements eq-heads-cache::

        2 L B G S K b

    keys and values, for each of L layers, B rows, G key/value heads and S tokens K numbers of b
    bytes. Grouped heads divide it by H / G; it does not depend on the number of query heads.

    Args:
        config: Of the model: L, G and K.
        tokens: S that there is room for [tokens].
        batch: B, rows.
        bytes_per_number: b: 2 for float16 and bfloat16, 4 for float32.

    Returns:
        Size of the tensors of a :class:`mathlm.layers.KeyValueCache` [bytes].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is negative, or batch or bytes_per_number 0.

    Example:
        >>> from mathlm.models import PRESETS
        >>> kv_cache_bytes(PRESETS["gpt2"], 1024)  # 2 · 12 layers · 768 · 1024 tokens · 2 bytes
        37748736
    """
    if not isinstance(config, GPTConfig):
        raise InputTypeError(f"config is a {type(config).__name__}, expected a GPTConfig")
    require_counts(0, tokens=tokens)
    require_counts(1, batch=batch, bytes_per_number=bytes_per_number)
    numbers = batch * config.kv_heads * tokens * config.head_width
    return 2 * config.n_layers * numbers * bytes_per_number


def window_cache_bytes(
    config: GPTConfig, tokens: int, batch: int = 1, bytes_per_number: int = 2
) -> int:
    """Memory of the keys and values that some later query may still see.

    Implements eq-current-cache::

        2 B G K b Σ_l min(S, w_l)

    with S tokens read and the window w_l of layer l, infinite in layers that see all keys. A
    rolling cache has a quarter more room than the window, so that it is seldom moved.

    Args:
        config: Of the model.
        tokens: S, tokens read.
        batch: B, rows.
        bytes_per_number: b.

    Returns:
        Size [bytes].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is negative, or batch or bytes_per_number 0.

    Example:
        >>> sizes = dict(vocab_size=256, context=128, d_model=16, n_layers=2, n_heads=2)
        >>> window_cache_bytes(GPTConfig(**sizes, window=8), tokens=100)  # 2 · 16 · 2 · (8 + 8)
        1024
    """
    of_all = kv_cache_bytes(config, tokens, batch, bytes_per_number)
    of_token = of_all // (tokens * config.n_layers) if tokens else 0  # in one layer
    return of_token * sum(tokens if w is None else min(tokens, w) for w in config.windows)


def latent_cache_bytes(
    n_layers: int,
    d_latent: int,
    d_rotary: int,
    tokens: int,
    batch: int = 1,
    bytes_per_number: int = 2,
) -> int:
    """Memory of what multi-head latent attention keeps while a model writes.

    Implements eq-heads-latent-cache::

        L B S (d_c + d_r) b

    one latent vector and one turned key for each of L layers, B rows and S tokens, in numbers
    of b bytes. Neither the number of heads nor their width matters.

    Args:
        n_layers: L.
        d_latent: Width of the latent vector, d_c.
        d_rotary: Width of the turned key, d_r; 0 for none.
        tokens: S that there is room for [tokens].
        batch: B, rows.
        bytes_per_number: b: 2 for float16 and bfloat16, 4 for float32.

    Returns:
        Size of the tensors of L times :class:`mathlm.layers.LatentCache` [bytes].

    Raises:
        InputError: If a number is negative, or one that must be at least 1 is 0.

    Example:
        >>> latent_cache_bytes(60, 512, 64, tokens=1, bytes_per_number=1)  # DeepSeek-V2
        34560

    References:
        DeepSeek-AI (2024), arXiv:2405.04434, table 1.
    """
    require_counts(0, tokens=tokens, d_rotary=d_rotary)
    require_counts(1, n_layers=n_layers, d_latent=d_latent, batch=batch)
    require_counts(1, bytes_per_number=bytes_per_number)
    return n_layers * batch * tokens * (d_latent + d_rotary) * bytes_per_number

"""Floating-point operations (FLOP) of a model, what limits them, how long training takes."""

import itertools
from collections.abc import Callable
from typing import Any

from ..checks import require_counts, require_positive
from ..errors import InputError
from ..layers.feedforward import GATES
from ..models import BertConfig, GPTConfig, MLPConfig, RecurrentConfig, TransformerConfig
from .parameters import (
    CELL_MAPS,
    affine,
    attention,
    count_parameters,
    entry_of,
    feed_forward,
    kv_cache_bytes,
)

Tokens = int | tuple[int, int]


def forward_flops(config: Any, tokens: Tokens, batch: int = 1, *, cached: int = 0) -> int:
    """Operations of the matrix products of one forward pass.

    Implements eq-arch-flops, for a GPT with M entries in its matrices, the head's included::

        2 B (T M  +  2 L T (C + T) H K)

    Each entry of a matrix costs one multiplication and one addition a token; scores and
    mixtures cost 2 H K each for every query and key, also for those that a mask hides, as
    ``torch.utils.flop_counter`` has it. Looking up embeddings costs none. What is left out
    (softmax, normalization, activations, biases) grows with the width and not with its square.

    Args:
        config: A ``GPTConfig``, ``BertConfig``, ``TransformerConfig``, ``RecurrentConfig`` or
            ``MLPConfig``.
        tokens: T that are read at once; of an encoder-decoder in the source and in the target,
            or one number for both; of an MLP, rows.
        batch: B, sequences.
        cached: C tokens read earlier, whose keys and values are kept. Only of a GPT.

    Returns:
        Number of operations [FLOP].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is less than 1, or ``cached`` negative or of no use.

    Example:
        >>> from mathlm.models import PRESETS
        >>> flops = forward_flops(PRESETS["gpt2"], 1024)
        >>> 2 < flops / (124439808 * 1024) < 2.5  # two for each weight, and attention
        True
    """
    multiplications = entry_of(MULTIPLICATIONS, config)
    require_counts(1, batch=batch)
    require_counts(0, cached=cached)
    if cached and not isinstance(config, GPTConfig):
        raise InputError(f"cached={cached} needs a GPTConfig, not a {type(config).__name__}")
    source, target = pair(config, tokens)
    return 2 * batch * multiplications(config, target, source + cached)


def flops_per_token(config: Any, context: Tokens, *, training: bool = False) -> float:
    """Operations for each token of a sequence.

    Computes::

        forward_flops(config, context) / context,   3 times that in training

    The backward pass has two products for each one of the forward pass: one for the gradient
    in the input, one for that in the matrix.

    Args:
        config: As for :func:`forward_flops`.
        context: Tokens in the sequence; of an encoder-decoder the divisor is the sum of both
            sequences.
        training: Whether the gradient is computed too.

    Returns:
        Number of operations [FLOP/token].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is less than 1.

    Example:
        >>> from mathlm.models import PRESETS
        >>> forward = flops_per_token(PRESETS["gpt2"], 1024)
        >>> flops_per_token(PRESETS["gpt2"], 1024, training=True) / forward
        3.0
    """
    flops = forward_flops(config, context)
    source, target = pair(config, context)
    tokens = source + target if isinstance(config, TransformerConfig) else target
    return (3 if training else 1) * flops / tokens


def six_nd(n: float | int, d: float | int) -> float:
    """Operations of a whole training, by the rule of thumb.

    Implements eq-training-flop::

        C = 6 N D

    for each parameter and token 2 in the forward and 4 in the backward pass. The scores of
    attention are left out; with S tokens in a sequence they add a share of S / (6 d_model).

    Args:
        n: Parameters N. Embedding tables, where they are not heads too, cost nothing; sources
            differ in whether they count them.
        d: Training tokens D.

    Returns:
        C [FLOP].

    Raises:
        InputError: If a number, or C, is not positive and finite.

    Example:
        >>> six_nd(70e9, 1.4e12)  # Chinchilla
        5.88e+23

    References:
        Kaplan et al. (2020), arXiv:2001.08361, section 2.1.
    """
    require_positive(n=n, d=d)
    operations = 6.0 * n * d
    require_positive(operations=operations)
    return operations


def pair(config: Any, tokens: Tokens) -> tuple[int, int]:
    """Tokens of the source and of the target; the same number where one is given."""
    if not isinstance(tokens, tuple):
        require_counts(1, tokens=tokens)
        return tokens, tokens
    if not isinstance(config, TransformerConfig) or len(tokens) != 2:
        raise InputError(
            f"tokens={tokens} of a {type(config).__name__}: two numbers, source and target, "
            "are for a TransformerConfig; give one"
        )
    require_counts(1, source_tokens=tokens[0], target_tokens=tokens[1])
    return tokens


def gpt(config: GPTConfig, T: int, S: int) -> int:
    """Multiplications with T queries and S keys."""
    D, F, K = config.d_model, config.ff_width, config.head_width
    heads = attention(D, config.n_heads, config.kv_heads, K, bias=False)
    gate = D * config.n_heads * K if config.variant is not None and config.variant.gate else 0
    block = heads + gate + feed_forward(D, F, False, config.activation in GATES)
    matrices = config.n_layers * block + D * config.vocab_size
    return T * matrices + 2 * config.n_layers * T * S * config.n_heads * K


def bert(config: BertConfig, T: int, S: int) -> int:
    """Multiplications with T queries and S keys."""
    D, H = config.d_model, config.n_heads
    block = attention(D, H, H, D // H, False) + feed_forward(D, config.ff_width, False)
    return config.n_layers * (T * block + 2 * T * S * D)


def transformer(config: TransformerConfig, T: int, S: int) -> int:
    """Multiplications with T tokens in the target and S in the source."""
    D, F = config.d_model, config.ff_width
    width = config.n_heads * config.head_width  # of all heads together
    heads = 4 * D * width
    between = feed_forward(D, F, False, config.activation in GATES)
    encoder = S * (heads + between) + 2 * S * S * width
    decoder = T * (heads + between) + 2 * T * T * width
    across = (T + S) * heads // 2 + 2 * T * S * width  # W_q and W_o read T, W_k and W_v read S
    blocks = config.n_layers * encoder + config.decoder_layers * (decoder + across)
    return blocks + T * D * config.target_vocab


def recurrent(config: RecurrentConfig, T: int, S: int) -> int:
    """Multiplications with T tokens, whatever came before."""
    D = config.d_model
    return T * (config.n_layers * CELL_MAPS[config.kind] * 2 * D * D + D * config.vocab_size)


def mlp(config: MLPConfig, T: int, S: int) -> int:
    """Multiplications with T rows."""
    return T * sum(affine(n, m, False) for n, m in itertools.pairwise(config.widths))


MULTIPLICATIONS: dict[type, Callable[[Any, int, int], int]] = {
    GPTConfig: gpt,
    BertConfig: bert,
    TransformerConfig: transformer,
    RecurrentConfig: recurrent,
    MLPConfig: mlp,
}


def arithmetic_intensity(
    config: GPTConfig,
    tokens: int,
    batch: int = 1,
    *,
    cached: int = 0,
    bytes_per_number: int = 2,
) -> float:
    """Operations for each byte that a forward pass moves.

    Implements eq-arch-intensity::

        forward_flops / (b · matrices + keys and values of B (C + T) tokens)

    All matrices, the head's included, are read once, whatever the batch; keys and values are
    read or written once. Of embedding tables only rows are read; they are left out, as is what
    lies between layers. Reading a prompt is ``tokens=T``; writing one token
    behind it is ``tokens=1, cached=T``. A device with a peak of P FLOP/s and a memory of W
    bytes/s waits for its memory below P / W.

    Args:
        config: Of the model.
        tokens: T that pass at once.
        batch: B, sequences.
        cached: C tokens whose keys and values are kept.
        bytes_per_number: b: 2 for float16 and bfloat16.

    Returns:
        Intensity [FLOP/byte].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is out of range.

    Example:
        >>> from mathlm.models import PRESETS
        >>> reading = arithmetic_intensity(PRESETS["gpt2"], tokens=1024)
        >>> writing = arithmetic_intensity(PRESETS["gpt2"], tokens=1, cached=1023)
        >>> reading > 100 * writing
        True

    References:
        Williams, Waterman and Patterson (2009), Roofline, section 3.
    """
    flops = forward_flops(config, tokens, batch, cached=cached)
    cache = kv_cache_bytes(config, cached + tokens, batch, bytes_per_number)
    parts = count_parameters(config, by_part=True)
    tables = parts["position"] + parts["token_embedding"] * (not config.tie_embeddings)
    return flops / ((sum(parts.values()) - tables) * bytes_per_number + cache)


def flop_utilization(
    flops: float | int, seconds: float | int, flops_per_second: float | int
) -> float:
    """Operations that the model needs over those that the devices could have done.

    Implements eq-scale-utilization::

        flops / (seconds · flops_per_second)

    What is computed twice, as when activations are thrown away, counts once: the operations are
    the model's, not the run's.

    Args:
        flops: That the model needs, as :func:`mathlm.scaling.flops_per_token` counts them
            [FLOP].
        seconds: That they took.
        flops_per_second: Of all devices together, at best [FLOP/s].

    Returns:
        The share, at most 1.

    Raises:
        InputError: If a number is not positive, or the share is above 1.

    Example:
        >>> flop_utilization(4e14, seconds=1.0, flops_per_second=1e15)
        0.4

    References:
        Chowdhery et al. (2022), PaLM, arXiv:2204.02311, section 4.1.
    """
    require_positive(flops=flops, seconds=seconds, flops_per_second=flops_per_second)
    share = flops / (seconds * flops_per_second)
    if share > 1:
        raise InputError(
            f"{flops:.3g} FLOP in {seconds:.3g} s are {share:.3g} times the peak of "
            f"{flops_per_second:.3g} FLOP/s: one of the three numbers is wrong"
        )
    return share


def training_days(
    flops: float | int,
    flops_per_second: float | int,
    utilization: float | int = 0.4,
    devices: int = 1,
) -> float:
    """Time that so many operations take on some devices.

    Implements eq-arch-days::

        flops / (devices · utilization · flops_per_second) / 86400

    Args:
        flops: Of the whole training, as :func:`mathlm.scaling.six_nd` gives them [FLOP].
        flops_per_second: Of one device, at best [FLOP/s].
        utilization: Share of that which is reached, at most 1; 0.3 to 0.5 is usual.
        devices: How many.

    Returns:
        Time [days].

    Raises:
        InputError: If a number is not positive, or the utilization is above 1.

    Example:
        >>> training_days(8.64e18, flops_per_second=1e15, utilization=0.5)  # 0.1 day at 100 %
        0.2
    """
    require_positive(flops=flops, flops_per_second=flops_per_second, utilization=utilization)
    require_counts(1, devices=devices)
    if utilization > 1:
        raise InputError(f"utilization={utilization} is a share: at most 1")
    return flops / (devices * utilization * flops_per_second) / 86_400

"""Memory of training and of inference, counted from a model's configuration."""

import math
from collections.abc import Callable
from typing import Any

from ..checks import require_counts
from ..errors import InputError
from ..layers.feedforward import GATES
from ..models import BertConfig, GPTConfig, TransformerConfig
from ..models.gpt_config import require_no_variant
from .flops import Tokens, pair
from .parameters import Parts, count_parameters, entry_of, kv_cache_bytes


def saved_numbers(config: Any, tokens: Tokens, batch: int = 1) -> int:
    """Numbers that autograd keeps of one forward pass and a cross-entropy.

    Computes, for a GPT with layer normalization, GELU and learned positions::

        B T (L (2 (2 D + 2)  +  4 H K + H  +  2 F)  +  2 D + 2  +  V)
               norms            attention     feed-forward         log-probabilities

    that is 16 L D + V for each token, nearly, where F = 4 D. A linear map keeps what it read, a
    normalization what it read and 1/σ, an activation what it read. Fused attention keeps its
    queries, keys, values and mixtures, and one number for each query and head. Keys and values
    that several heads share are kept once. Where a bias is added to the scores (alibi,
    relative), all H T S weights are kept instead of the sums, and shared keys for each head.

    The models are those of this package, without dropout and padding masks, on the CPU. Weights
    and token ids, which also are kept, do not count.

    Args:
        config: A ``GPTConfig``, ``BertConfig`` or ``TransformerConfig``.
        tokens: T in a sequence; of an encoder-decoder in the source and in the target, or one
            number for both.
        batch: B, sequences.

    Returns:
        Numbers of the precision of the model; of a BERT without a head and a loss.

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is less than 1.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> saved_numbers(GPTConfig(**sizes), 10)  # 10 · (2 · (68 + 64 + 2 + 128) + 34 + 256)
        8140

    References:
        Korthikanti et al. (2022), arXiv:2205.05198, section 4.1.
    """
    count = entry_of(SAVED, config)
    require_counts(1, batch=batch)
    source, target = pair(config, tokens)
    return count(config, target, source, batch)


def gpt(config: GPTConfig, T: int, _: int, B: int) -> int:
    """Kept of a :class:`mathlm.models.GPT`."""
    require_no_variant(config, "the count of what the backward pass needs")
    L, H, K = config.n_layers, config.n_heads, config.head_width
    norm = normalized(config.d_model, config.norm)
    biased, windowed = config.position in ("alibi", "relative"), config.window is not None
    moved = config.position == "rope" or config.qk_norm
    groups = H if biased else config.kv_heads
    block = attended(H, groups, K, T if biased else 1, moved and not biased)
    block += 2 * norm + between(config.ff_width, config.activation)
    if config.qk_norm:
        block += (H + config.kv_heads) * (2 * K + 1)
    masks = L * T * T if windowed and not biased else 0  # one a layer, for all rows
    return B * T * (L * block + norm + config.vocab_size) + masks


def bert(config: BertConfig, T: int, _: int, B: int) -> int:
    """Kept of a :class:`mathlm.models.Bert`, whose output nothing reads."""
    D, L, H = config.d_model, config.n_layers, config.n_heads
    block = attended(H, H, D // H, 1, False) + between(config.ff_width, config.activation)
    return B * T * (L * block + (2 * L + 1) * normalized(D, "layer") - D)


def transformer(config: TransformerConfig, T: int, S: int, B: int) -> int:
    """Kept of a :class:`mathlm.models.Transformer`."""
    D, H, K = config.d_model, config.n_heads, config.head_width
    norm, biased = normalized(D, config.norm), config.position == "relative"
    ends = norm if config.norm_first else D  # behind the last block, or in front of the first
    inner = between(config.ff_width, config.activation)
    encoder = 2 * norm + inner + attended(H, H, K, S if biased else 1, False)
    decoder = 3 * norm + inner + attended(H, H, K, T if biased else 1, False)
    across = T * (2 * H * K + H) + S * 2 * H * K  # queries, mixtures and sums; keys and values
    source = S * (config.n_layers * encoder + ends)
    target = T * (config.decoder_layers * decoder + ends + config.target_vocab)
    return B * (source + target + config.decoder_layers * across)


def normalized(D: int, norm: str) -> int:
    """What came in and goes out, mean and 1/σ; of rms also the quotient, and 1/rms."""
    return 3 * D + 1 if norm == "rms" else 2 * D + 2


def attended(H: int, G: int, K: int, row: int, moved: bool) -> int:
    """Queries, keys, values and mixtures, and of each head a row of weights, or their sum.

    Where queries were turned or normalized, the fused kernel returns the heads in another
    order, and joining them takes a copy.
    """
    return (3 if moved else 2) * H * K + 2 * G * K + H * row


def between(F: int, activation: str) -> int:
    """What an activation reads and what it gives; of relu, the latter; of a gate, both maps."""
    return (4 if activation in GATES else 1 if activation == "relu" else 2) * F


SAVED: dict[type, Callable[[Any, int, int, int], int]] = {
    GPTConfig: gpt,
    BertConfig: bert,
    TransformerConfig: transformer,
}


STATES = {"sgd": 0, "momentum": 1, "rmsprop": 1, "adam": 2, "adamw": 2}


def training_memory(
    config: Any,
    tokens: Tokens,
    batch: int = 1,
    *,
    optimizer: str = "adamw",
    bytes_per_number: int = 4,
    gradient_bytes: int | None = None,
    master_bytes: int = 0,
    state_bytes: int = 4,
) -> Parts:
    """What a training step keeps in memory, by part.

    Implements eq-arch-training-memory, with N parameters::

        weights      N (bytes_per_number + master_bytes)
        gradients    N gradient_bytes
        optimizer    N state_bytes · (2 for Adam: m and v)
        activations  bytes_per_number · numbers that the backward pass needs
        loss         bytes_per_number · 2 batch · T V

    The last are the gradients in the log-probabilities and in the logits, with which the
    backward pass begins. If gradients of an earlier batch are kept, the sum of all parts is the
    peak of the step; otherwise gradients are complete only when activations are gone. The
    activations are those that :func:`saved_numbers` counts.

    Weights, gradients and Adam's states are 16 bytes a parameter in float32 (4, 4, 8), and also
    in bfloat16 with a master copy in float32 (2 + 4, 2, 8); 18 where gradients are float32.

    Args:
        config: A ``GPTConfig``, ``BertConfig`` or ``TransformerConfig``.
        tokens: T in a sequence; of an encoder-decoder in the source and in the target, or one
            number for both.
        batch: B, sequences that are in memory together.
        optimizer: "sgd", "momentum" (SGD with it), "rmsprop", "adam" or "adamw".
        bytes_per_number: Of weights and activations: 4 for float32, 2 for bfloat16.
        gradient_bytes: Of gradients. None = as weights.
        master_bytes: Of a second copy of the weights, 4 in mixed precision as it is usual.
        state_bytes: Of the numbers that the optimizer keeps.

    Returns:
        Bytes of weights, gradients, optimizer, activations and loss; of a BERT, which has no
        head here, none for the loss.

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is out of range or the optimizer is not known.

    Example:
        >>> from mathlm.models import PRESETS
        >>> parts = training_memory(PRESETS["gpt2"], tokens=1024)
        >>> parts["weights"] == 4 * 124439808
        True
    """
    gradient_bytes = bytes_per_number if gradient_bytes is None else gradient_bytes
    require_counts(1, bytes_per_number=bytes_per_number)
    require_counts(1, gradient_bytes=gradient_bytes, state_bytes=state_bytes)
    require_counts(0, master_bytes=master_bytes)
    if optimizer not in STATES:
        known = ", ".join(map(repr, STATES))
        raise InputError(f"optimizer={optimizer!r} is not one of {known}")
    numbers = saved_numbers(config, tokens, batch)
    n = count_parameters(config)
    return {
        "weights": n * (bytes_per_number + master_bytes),
        "gradients": n * gradient_bytes,
        "optimizer": n * STATES[optimizer] * state_bytes,
        "activations": numbers * bytes_per_number,
        "loss": 2 * logits(config, tokens, batch) * bytes_per_number,
    }


def inference_memory(
    config: GPTConfig, tokens: int, batch: int = 1, *, bytes_per_number: int = 2
) -> Parts:
    """What a model keeps in memory while it reads a text at once, by part.

    Implements eq-arch-inference-memory::

        weights      N b
        cache        2 L B G T K b
        activations  B T b · max(D + V, 4 D + 2 F)

    The activations are short-lived: most are there either with the logits of all tokens, or
    inside a feed-forward network, besides four versions of the stream. Swiglu holds 4 F.

    Args:
        config: Of the model.
        tokens: T that are read, and for which the cache has room.
        batch: B, sequences.
        bytes_per_number: b: 2 for float16 and bfloat16, 4 for float32.

    Returns:
        Bytes of weights, cache and activations, these at their peak.

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is less than 1.

    Example:
        >>> from mathlm.models import PRESETS
        >>> inference_memory(PRESETS["gpt2"], 1024)["weights"] == 2 * 124439808
        True
    """
    require_counts(1, tokens=tokens)
    return {
        "weights": count_parameters(config) * bytes_per_number,
        "cache": kv_cache_bytes(config, tokens, batch, bytes_per_number),
        "activations": batch * tokens * widest(config) * bytes_per_number,
    }


def logits(config: Any, tokens: Tokens, batch: int) -> int:
    """How many logits there are."""
    target = pair(config, tokens)[1]
    if isinstance(config, TransformerConfig):
        return batch * target * config.target_vocab
    return batch * target * config.vocab_size if isinstance(config, GPTConfig) else 0


def widest(config: GPTConfig) -> int:
    """Most numbers for each token that are there at once in a forward pass."""
    D, F, V = config.d_model, config.ff_width, config.vocab_size
    return max(D + V, 4 * D + (4 if config.activation in GATES else 2) * F)


def kept_with_segments(blocks: int, segments: int, stream: int, block: int) -> int:
    """Numbers in memory when segments of blocks are computed again in the backward pass.

    Implements eq-scale-segments::

        s · stream + ceil(L / s) · block

    The input of each segment is kept, and while backward goes through a segment, all that its
    blocks keep. One segment for each block is what is usual.

    Args:
        blocks: L.
        segments: s, from 1 to L.
        stream: Numbers in the input of a block.
        block: Numbers that a block keeps for its backward pass.

    Returns:
        Numbers at the peak.

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> kept_with_segments(blocks=4, segments=2, stream=10, block=100)  # 2 · 10 + 2 · 100
        220

    References:
        Chen et al. (2016), arXiv:1604.06174.
    """
    require_counts(1, blocks=blocks, segments=segments, stream=stream, block=block)
    if segments > blocks:
        raise InputError(f"segments={segments} must be at most blocks={blocks}")
    return segments * stream + math.ceil(blocks / segments) * block


DIVIDED = ("optimizer", "gradients", "weights")  # what stages 1, 2 and 3 divide


def sharded_memory(
    parameters: int,
    devices: int,
    stage: int = 3,
    *,
    weight_bytes: int = 2,
    gradient_bytes: int = 2,
    optimizer_bytes: int = 12,
) -> Parts:
    """Bytes of weights, gradients and optimizer on each device, by the stages of ZeRO.

    Implements eq-scale-zero::

        N (w / n₃ + g / n₂ + o / n₁),   nₛ = n from stage s on, else 1

    Stage 0 is data parallelism: every device keeps all. Shares that do not come out even are
    rounded up. Activations and gathered layers are not divided and not counted.

    Args:
        parameters: N.
        devices: n.
        stage: 0 divides nothing, 1 the optimizer, 2 gradients too, 3 weights too.
        weight_bytes: w for each parameter.
        gradient_bytes: g for each parameter.
        optimizer_bytes: o for each parameter: 12 for AdamW's two moments and the master copy
            in float32, 8 where weights are float32 themselves.

    Returns:
        Bytes of weights, gradients and optimizer.

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> sharded_memory(1000, devices=4)  # 16 bytes a parameter, over four
        {'weights': 500, 'gradients': 500, 'optimizer': 3000}

    References:
        Rajbhandari et al. (2020), arXiv:1910.02054, figure 1.
    """
    require_counts(1, parameters=parameters, devices=devices)
    require_counts(
        0,
        weight_bytes=weight_bytes,
        gradient_bytes=gradient_bytes,
        optimizer_bytes=optimizer_bytes,
    )
    if stage not in (0, 1, 2, 3):
        raise InputError(f"stage={stage!r} is none of 0, 1, 2 and 3")
    sizes = {"weights": weight_bytes, "gradients": gradient_bytes, "optimizer": optimizer_bytes}
    share = {
        name: -(-parameters // devices) if name in DIVIDED[:stage] else parameters
        for name in sizes
    }
    return {name: share[name] * size for name, size in sizes.items()}

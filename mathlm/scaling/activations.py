"""What the backward pass needs of the forward pass, counted from a model's configuration."""

from collections.abc import Callable
from typing import Any

from ..layers.feedforward import GATES
from ..models import BertConfig, GPTConfig, TransformerConfig
from .count_checks import require_counts
from .flop_counts import Tokens, pair
from .parameters import entry_of


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

    References:
        Korthikanti et al. (2022), arXiv:2205.05198, section 4.1.
    """
    count = entry_of(SAVED, config)
    require_counts(1, batch=batch)
    source, target = pair(config, tokens)
    return count(config, target, source, batch)


def gpt(config: GPTConfig, T: int, _: int, B: int) -> int:
    """Kept of a :class:`mathlm.models.GPT`."""
    L, H, K = config.n_layers, config.n_heads, config.head_width
    norm = normalized(config.d_model, config.norm)
    biased, windowed = config.position in ("alibi", "relative"), config.window is not None
    moved = config.position == "rope" or config.qk_norm or windowed
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

    Where queries were turned, normalized or masked, the fused kernel returns the heads in
    another order, and joining them takes a copy.
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

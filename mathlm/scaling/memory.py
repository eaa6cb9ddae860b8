"""Memory of training and of inference, counted from a model's configuration."""

from typing import Any

from ..errors import InputError
from ..layers.feedforward import GATES
from ..models import GPTConfig, TransformerConfig
from .activations import saved_numbers
from .count_checks import require_counts
from .counts import kv_cache_bytes
from .flop_counts import Tokens, pair
from .parameters import Parts, count_parameters

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
    """
    gradient_bytes = bytes_per_number if gradient_bytes is None else gradient_bytes
    require_counts(1, batch=batch, bytes_per_number=bytes_per_number)
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
    """
    require_counts(1, tokens=tokens, batch=batch, bytes_per_number=bytes_per_number)
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

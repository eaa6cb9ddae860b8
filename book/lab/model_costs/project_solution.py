"""Reference solution of the project of this page."""

from mathlm.models import GPTConfig


def cost(config: GPTConfig, tokens: int) -> dict[str, int]:
    """Parameters, forward FLOP of one sequence (full square) and bytes of its cache in 16 bits.

    Args:
        config: With or without biases, with a gate or not, learned positions or rotary ones.
        tokens: T.
    """
    c, D, L, T = config, config.d_model, config.n_layers, tokens
    H, G, K, F, V = c.n_heads, c.kv_heads, c.head_width, c.ff_width, c.vocab_size
    maps = 3 if c.activation == "swiglu" else 2
    matrices = L * (2 * (H + G) * K * D + maps * F * D)
    gains = (2 * L + 1) * D * (2 if c.norm == "layer" else 1)
    biases = L * ((H + 2 * G) * K + D + (maps - 1) * F + D) if c.bias else 0
    tables = V * D + (c.context * D if c.position == "learned" else 0)
    head = V * D
    return {
        "parameters": tables + matrices + gains + biases + (0 if c.tie_embeddings else head),
        "flops": 2 * T * (matrices + head) + 4 * L * T * T * H * K,
        "cache": 2 * L * G * K * T * 2,
    }

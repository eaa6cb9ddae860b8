"""Configurations of published models, to be counted, not made."""

from ..models import PRESETS, BertConfig, GPTConfig, TransformerConfig


def _encoder_decoder(d_model: int, n_heads: int) -> TransformerConfig:
    """Vaswani et al. (2017), arXiv:1706.03762, table 3: 37,000 tokens shared by both sides."""
    return TransformerConfig(
        vocab_size=37_000,
        context=512,
        d_model=d_model,
        n_layers=6,
        n_heads=n_heads,
        tie_embeddings="all",
        dropout=0.1,
    )


def _t5(d_model: int, n_layers: int, n_heads: int, d_ff: int, d_head: int) -> TransformerConfig:
    """Raffel et al. (2020), arXiv:1910.10683, sections 2.1 and 3.4.4."""
    return TransformerConfig(
        vocab_size=32_128,
        context=512,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_head=d_head,
        d_ff=d_ff,
        norm="rms",
        norm_eps=1e-6,
        norm_first=True,
        position="relative",
        bias=False,
        tie_embeddings="all",
        scale_embeddings=False,
        attention_scale=False,
        scale_head=True,
    )


def _gpt3(d_model: int, n_layers: int, n_heads: int) -> GPTConfig:
    """Brown et al. (2020), arXiv:2005.14165, table 2.1."""
    return GPTConfig(context=2048, d_model=d_model, n_layers=n_layers, n_heads=n_heads)


def _llama(
    d_model: int,
    n_layers: int,
    n_heads: int,
    d_ff: int,
    n_kv_heads: int | None = None,
    context: int = 2048,
    vocab_size: int = 32_000,
    rope_base: float = 10_000.0,
    norm_eps: float = 1e-5,
    window: int | None = None,
) -> GPTConfig:
    """The Llama family.

    Touvron et al. (2023), arXiv:2302.13971 and arXiv:2307.09288; Jiang et al. (2023),
    arXiv:2310.06825; Grattafiori et al. (2024), arXiv:2407.21783, table 3.
    """
    return GPTConfig(
        vocab_size=vocab_size,
        context=context,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=d_ff,
        norm="rms",
        norm_eps=norm_eps,
        activation="swiglu",
        position="rope",
        rope_base=rope_base,
        window=window,
        bias=False,
        tie_embeddings=False,
    )


PUBLISHED: dict[str, GPTConfig | BertConfig | TransformerConfig] = {
    "transformer-base": _encoder_decoder(512, 8),
    "transformer-big": _encoder_decoder(1024, 16),
    "bert-base": BertConfig(),
    "bert-large": BertConfig(d_model=1024, n_layers=24, n_heads=16),
    "minilm": BertConfig(d_model=384, n_layers=6, n_heads=12),
    "t5-small": _t5(512, 6, 8, 2048, 64),
    "t5-base": _t5(768, 12, 12, 3072, 64),
    "t5-11b": _t5(1024, 24, 128, 65_536, 128),
    **PRESETS,
    "gpt3-175b": _gpt3(12_288, 96, 96),
    "llama-7b": _llama(4096, 32, 32, 11_008, norm_eps=1e-6),
    "llama-13b": _llama(5120, 40, 40, 13_824, norm_eps=1e-6),
    "llama-65b": _llama(8192, 80, 64, 22_016),
    "llama2-70b": _llama(8192, 80, 64, 28_672, 8, context=4096),
    "mistral-7b": _llama(4096, 32, 32, 14_336, 8, context=32_768, window=4096),
    "llama3-8b": _llama(4096, 32, 32, 14_336, 8, 8192, 128_256, 500_000.0),
    "llama3-70b": _llama(8192, 80, 64, 28_672, 8, 8192, 128_256, 500_000.0),
}

"""The ``config.json`` of current open models as choices of a GPT, and their weights' names."""

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import CheckpointMismatchError, ConfigError
from ..block_variant import BlockVariant, Placement
from .hugging_face import flag, number, require_field, require_values, rope_of

GEMMAS, OLMOS = ("gemma2", "gemma3_text"), ("olmo2", "olmo3")
VARIANTS = (*GEMMAS, *OLMOS)
UNBUILT = {  # what a model has that GPT does not build
    "deepseek_v2": "multi-head latent attention and a mixture of experts",
    "deepseek_v3": "multi-head latent attention and a mixture of experts",
    "deepseek_v32": "latent attention, an indexer that picks keys, and a mixture of experts",
    "deepseek_v4": "hyper-connections, an indexer that picks keys, and a mixture of experts",
    "gemma4_text": "embeddings for each layer, and layers that share keys and values",
    "gpt_oss": "a mixture of experts",
    "qwen3_moe": "a mixture of experts",
    "qwen3_next": "layers of linear attention and a mixture of experts",
    "qwen3_5_text": "layers of linear attention",
    "mixtral": "a mixture of experts",
    "gemma3": "an image encoder: give the folder of its text model, gemma3_text",
    "mamba2": "state-space layers",
}
GATES = {"silu": "swiglu", "swish": "swiglu", "gelu_pytorch_tanh": "geglu_tanh"}
ONLY = {
    "attention_bias": False,
    "quantization_config": None,
    "use_bidirectional_attention": False,
}
OLMO_PARTS = {
    "attention_norm": "post_attention_layernorm",
    "feed_forward_norm": "post_feedforward_layernorm",
}
GEMMA_PARTS = {
    "attention_norm": "input_layernorm",
    "attention_out_norm": "post_attention_layernorm",
    "feed_forward_norm": "pre_feedforward_layernorm",
    "feed_forward_out_norm": "post_feedforward_layernorm",
}
OFTEN = {"gemma2": 2, "gemma3_text": 6, "olmo3": 4}  # where the file does not say
BASES = {"gemma3_text": (1e6, 1e4), "olmo3": (5e5, 5e5)}  # of all keys, and of the window


def refuse_unbuilt(fields: Mapping[str, Any]) -> None:
    """Refuse a type of model by what it has that a GPT has not.

    Raises:
        CheckpointMismatchError: If the type is one of those.
    """
    kind = fields.get("model_type")
    if isinstance(kind, str) and kind in UNBUILT:
        raise CheckpointMismatchError(
            f"config.json has model_type={kind!r}, which has {UNBUILT[kind]}; GPT does not "
            "build that"
        )


def parts_of(kind: str) -> dict[str, str]:
    """Their names of the normalizations of a block."""
    return GEMMA_PARTS if kind in GEMMAS else OLMO_PARTS


def variant_choices(fields: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The choices of a :class:`GPTConfig` that the fields of one of ``VARIANTS`` describe."""
    require_values({k: v for k, v in fields.items() if v is not None}, ONLY)
    window, every = window_of(fields, kind)
    base, scaling, local = bases_of(fields, kind)
    own = gemma_variant(fields, kind) if kind in GEMMAS else {"qk_norm_over": "all"}
    placement: Placement = "both" if kind in GEMMAS else "after"
    behind = None if kind == "olmo2" or window is None else local
    act = "hidden_activation" if "hidden_activation" in fields else "hidden_act"
    try:
        variant = BlockVariant(
            placement=placement, full_every=every, local_rope_base=behind, **own
        )
    except ConfigError as error:
        raise CheckpointMismatchError(f"config.json describes no GPT: {error}") from error
    return {
        "norm": "rms",
        "position": "rope",
        "activation": require_field(fields, act, GATES),
        "n_kv_heads": fields.get("num_key_value_heads"),
        "d_head": fields.get("head_dim"),
        "rope_base": base,
        "rope_scaling": scaling,
        "window": window,
        "qk_norm": kind != "gemma2",
        "bias": False,
        "tie_embeddings": flag(fields, "tie_word_embeddings", kind in GEMMAS),
        "variant": variant,
    }


def gemma_variant(fields: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """What a Gemma has: centered gains, scaled embeddings, a scale of scores, and caps."""
    scalar = number("query_pre_attn_scalar", fields.get("query_pre_attn_scalar", 256))
    if scalar <= 0:
        raise CheckpointMismatchError(
            f"config.json has query_pre_attn_scalar={scalar}, not positive"
        )
    own = {"centered": True, "scale_embedding": True, "score_scale": scalar**-0.5}
    caps = {"score_cap": "attn_logit_softcapping", "logit_cap": "final_logit_softcapping"}
    usual = {"score_cap": 50.0, "logit_cap": 30.0} if kind == "gemma2" else {}
    found = {our: fields.get(their, usual.get(our)) for our, their in caps.items()}
    if kind != "gemma2" and found["score_cap"] is not None:
        raise CheckpointMismatchError(
            f"config.json has attn_logit_softcapping={found['score_cap']!r}, which models of "
            f"type {kind!r} are run without"
        )
    return own | {our: None if c is None else number(caps[our], c) for our, c in found.items()}


def window_of(fields: Mapping[str, Any], kind: str) -> tuple[int | None, int | None]:
    """The window, and every how many layers there is none."""
    layers, often = fields.get("layer_types"), OFTEN.get(kind)
    if kind == "gemma3_text":
        often = fields.get("sliding_window_pattern", often)
    if kind == "olmo2":
        return None, None
    if layers is None:
        return fields.get("sliding_window"), often
    full = full_layers(layers)
    every = full.index(True) + 1 if True in full else None
    pattern = [every is not None and (i + 1) % every == 0 for i in range(len(full))]
    if all(full):
        return None, None
    if full != pattern or len(full) != fields.get("num_hidden_layers"):
        raise CheckpointMismatchError(
            f"config.json has layer_types={layers!r}: here every n-th of "
            f"{fields.get('num_hidden_layers')} layers may be 'full_attention', the others are "
            "'sliding_attention'"
        )
    return fields.get("sliding_window"), every


def full_layers(layers: Any) -> list[bool]:
    """Which layers see all keys."""
    known = ("sliding_attention", "full_attention")
    if not isinstance(layers, list) or any(kind not in known for kind in layers):
        raise CheckpointMismatchError(
            f"config.json has layer_types={layers!r}: this model has {', '.join(known)}"
        )
    return [kind == "full_attention" for kind in layers]


def bases_of(fields: Mapping[str, Any], kind: str) -> tuple[float, Any, float]:
    """Base and scaling of rope where all keys are seen, and its base behind a window."""
    said = fields.get("rope_parameters")
    usual, local = BASES.get(kind, (1e4, 1e4))
    if not (isinstance(said, dict) and "full_attention" in said):
        if kind in BASES and said:
            raise CheckpointMismatchError(
                f"config.json has rope_parameters={said!r}; a model of type {kind!r} has them "
                "for 'full_attention' and 'sliding_attention'"
            )
        base, scaling = rope_of({"rope_theta": usual} | dict(fields))
        local = local if kind == "gemma3_text" else base
        found = fields.get("rope_local_base_freq", local)
        return base, scaling, number("rope_local_base_freq", found)
    base, scaling = rope_of({"rope_theta": usual} | without(fields, said["full_attention"]))
    near, scaled = rope_of(
        {"rope_theta": local} | without(fields, said.get("sliding_attention"))
    )
    if scaled is not None:
        raise CheckpointMismatchError(
            "config.json scales rope in the layers with a window: "
            f"{said['sliding_attention']!r}"
        )
    return base, scaling, near


def without(fields: Mapping[str, Any], said: Any) -> dict[str, Any]:
    """The fields with one object for rope."""
    own: Sequence[str] = ("rope_scaling", "rope_parameters")
    return {n: v for n, v in fields.items() if n not in own} | {"rope_parameters": said}

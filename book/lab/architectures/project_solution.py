"""Reference solution of the project of this page."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mathlm.functional import half_split_order
from mathlm.models import GPT, GPTConfig


def load(file: Mapping[str, Tensor], meta: Mapping[str, Any]) -> GPT:
    """A GPT with the weights of a file whose names, orientation and pairs are others.

    Args:
        file: ``token_embd`` (V, D) and ``output_norm`` (D); for each block i ``blk.i.attn_qkv``
            (D, (H + 2 G) K), queries, keys and values in this order, ``blk.i.attn_output``
            (H K, D), ``blk.i.ffn_gate_up`` (D, 2 F), the gate first, ``blk.i.ffn_down``
            (F, D), ``blk.i.attn_norm`` and ``blk.i.ffn_norm`` (D). Rotary pairs are neighbors.
        meta: Sizes, ``rope.freq_base`` and ``rms_norm_eps``.
    """
    config = GPTConfig(
        vocab_size=meta["vocab_size"], context=meta["context_length"],
        d_model=meta["embedding_length"], n_layers=meta["block_count"],
        n_heads=meta["head_count"], n_kv_heads=meta["head_count_kv"],
        d_ff=meta["feed_forward_length"], rope_base=meta["rope.freq_base"],
        norm_eps=meta["rms_norm_eps"], norm="rms", activation="swiglu", position="rope",
        bias=False, tie_embeddings=True,
    )  # fmt: skip
    K, H, G = config.head_width, config.n_heads, config.kv_heads
    order = half_split_order(K)

    def paired(rows: Tensor) -> Tensor:
        return rows.unflatten(0, (-1, K))[:, order].flatten(0, 1)

    state = {"token_embedding.weight": file["token_embd"], "head.weight": file["token_embd"]}
    state["final_norm.gamma"] = file["output_norm"]
    for i in range(config.n_layers):
        theirs, ours = f"blk.{i}.", f"blocks.{i}."
        q, k, v = file[theirs + "attn_qkv"].mT.split([H * K, G * K, G * K])
        gate, up = file[theirs + "ffn_gate_up"].mT.chunk(2)
        matrices = {"attention.W_q": paired(q), "attention.W_k": paired(k)}
        matrices |= {"attention.W_v": v, "attention.W_o": file[theirs + "attn_output"].mT}
        matrices |= {"feed_forward.W_gate": gate, "feed_forward.W_in": up}
        matrices |= {"feed_forward.W_out": file[theirs + "ffn_down"].mT}
        state |= {f"{ours}{name}.weight": w for name, w in matrices.items()}
        state[f"{ours}attention_norm.gamma"] = file[theirs + "attn_norm"]
        state[f"{ours}feed_forward_norm.gamma"] = file[theirs + "ffn_norm"]
    model = GPT(config).to(torch.float32)
    model.load_state_dict(state)  # strict: every name and shape
    return model

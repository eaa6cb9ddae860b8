"""The encoder-decoder once more, in torch and from the paper: what autograd differentiates."""

import math

import torch
import torch.nn.functional as F

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}


def positions(real, D):
    """Sines and cosines of the number of real tokens before each one."""
    t = (real.cumsum(1) - 1).clamp(min=0)[..., None].double()
    i = torch.arange(0, D, 2, dtype=torch.float64)
    angle = t / 10000 ** (i / D)
    return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)


def attend(w, name, x, m, mask, H):
    def project(z, kind):
        z = F.linear(z, w[f"{name}.{kind}.weight"], w.get(f"{name}.{kind}.bias"))
        return z.unflatten(-1, (H, -1)).transpose(1, 2)

    q, k, v = project(x, "W_q"), project(m, "W_k"), project(m, "W_v")
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / math.sqrt(q.shape[-1])
    weights = scores.masked_fill(~mask, -1e30).softmax(-1) * mask
    heads = torch.einsum("bhts,bhsk->bthk", weights, v).flatten(2)
    return F.linear(heads, w[f"{name}.W_o.weight"], w.get(f"{name}.W_o.bias"))


def think(w, name, x, activation):
    def project(z, kind):
        return F.linear(z, w[f"{name}.{kind}.weight"], w.get(f"{name}.{kind}.bias"))

    if activation == "swiglu":
        return project(F.silu(project(x, "W_gate")) * project(x, "W_in"), "W_out")
    return project(ACTIVATIONS[activation](project(x, "W_in")), "W_out")


def add_and_normalize(w, name, x, added, config, dropout):
    added = added * dropout.get(name, 1.0)
    gamma, beta = w[f"{name}_norm.gamma"], w.get(f"{name}_norm.beta")
    return F.layer_norm(x + added, x.shape[-1:], gamma, beta, config.norm_eps)


def transformer_logits(w, config, source, target, source_real, target_real, dropout):
    """Logits (B, T, V); w and dropout hold tensors by name, ids and masks are tensors."""
    H, T = config.n_heads, target.shape[1]
    target_table = w["source_embedding.weight"]
    if config.tie_embeddings != "all":
        target_table = w["target_embedding.weight"]
    head = target_table if config.tie_embeddings != "none" else w["head.weight"]

    def embed(ids, table, real, place):
        x = table[ids] * math.sqrt(config.d_model) + positions(real, config.d_model)
        return x * real[..., None] * dropout.get(place, 1.0)

    def sublayer(x, name, added):
        return add_and_normalize(w, name, x, added, config, dropout)

    seen = source_real[:, None, None]
    m = embed(source, w["source_embedding.weight"], source_real, "source_embedding")
    for i in range(config.n_layers):
        m = sublayer(
            m, f"encoder.{i}.attention", attend(w, f"encoder.{i}.attention", m, m, seen, H)
        )
        name = f"encoder.{i}.feed_forward"
        m = sublayer(m, name, think(w, name, m, config.activation))
    past = torch.ones(T, T, dtype=torch.bool).tril() & target_real[:, None, None]
    x = embed(target, target_table, target_real, "target_embedding")
    for i in range(config.decoder_layers):
        name = f"decoder.{i}.attention"
        x = sublayer(x, name, attend(w, name, x, x, past, H))
        name = f"decoder.{i}.cross_attention"
        x = sublayer(x, name, attend(w, name, x, m, seen, H))
        name = f"decoder.{i}.feed_forward"
        x = sublayer(x, name, think(w, name, x, config.activation))
    return x @ head.T


def transformer_loss(logits, sentence, real, smoothing):
    """torch's own label smoothing, averaged over labels that follow a real token."""
    counted = real[:, 1:] & real[:, :-1]
    return F.cross_entropy(
        logits[counted], sentence[:, 1:][counted], label_smoothing=smoothing, reduction="mean"
    )

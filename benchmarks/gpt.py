"""Our GPT against GPT-2 of the transformers package, same sizes, same batch, same optimizer."""

import torch
from torch import nn
from torch.nn import functional as F
from transformers import GPT2Config, GPT2LMHeadModel

from mathlm.functional import causal_mask
from mathlm.functional import fused_attention as attention
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW

from .timing import Row, compare

B, T, V = 8, 256, 256
OURS = GPTConfig(
    vocab_size=V, context=T, d_model=256, n_layers=4, n_heads=8,
    norm="layer", activation="gelu_tanh", position="learned", bias=True, tie_embeddings=True,
)  # fmt: skip
THEIRS = GPT2Config(
    vocab_size=V, n_positions=T, n_embd=256, n_layer=4, n_head=8,
    resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0,
)  # fmt: skip
GPT2 = "transformers GPT-2"


def models(device: str) -> tuple[nn.Module, nn.Module]:
    """Both models, with equally many parameters."""
    ours, theirs = GPT(OURS).to(device), GPT2LMHeadModel(THEIRS).to(device)
    counts = [sum(p.numel() for p in m.parameters()) for m in (ours, theirs)]
    if counts[0] != counts[1]:
        raise RuntimeError(f"the models differ in size: {counts}")
    return ours, theirs


def train_step(device: str) -> Row:
    """Forward, backward and AdamW on one batch."""
    ours, theirs = models(device)
    ids = torch.randint(V, (B, T + 1), device=device)
    x, y = ids[:, :-1], ids[:, 1:].flatten()
    a = AdamW(ours.parameters(), lr=1e-4)
    b = torch.optim.AdamW(theirs.parameters(), lr=1e-4)

    def step(optimizer: torch.optim.Optimizer, logits: torch.Tensor) -> None:
        F.cross_entropy(logits.flatten(0, 1), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    return compare(
        "train-step", GPT2,
        lambda: step(a, ours(x)), lambda: step(b, theirs(x).logits),
        work=B * T, unit="tokens/s",
    )  # fmt: skip


def optimizer_step(device: str) -> Row:
    """AdamW over the parameters of the model."""
    ours, theirs = models(device)
    for model in (ours, theirs):
        for p in model.parameters():
            p.grad = torch.randn_like(p)
    a, b = AdamW(ours.parameters()), torch.optim.AdamW(theirs.parameters())
    return compare(
        "optimizer-step", "torch.optim.AdamW", a.step, b.step, work=1, unit="steps/s"
    )


def attention_row(device: str) -> Row:
    """Causal attention, forward and backward."""
    q, k, v = torch.randn(3, B, 8, T, 32, device=device, requires_grad=True)
    mask = causal_mask(T, T, device=torch.device(device))
    return compare(
        "attention", "torch, same mask",
        lambda: attention(q, k, v, mask).sum().backward(),
        lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask).sum().backward(),
        work=B * T, unit="tokens/s",
    )  # fmt: skip


def block(device: str) -> Row:
    """One transformer block, forward and backward."""
    ours, theirs = models(device)
    x = torch.randn(B, T, 256, device=device)
    a, b = ours.blocks[0], theirs.transformer.h[0]
    return compare(
        "block", f"{GPT2} block",
        lambda: a(x).sum().backward(), lambda: _first(b(x)).sum().backward(),
        work=B * T, unit="tokens/s",
    )  # fmt: skip


def _first(output: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    return output[0] if isinstance(output, tuple) else output


BENCHMARKS = {
    "train-step": train_step,
    "optimizer-step": optimizer_step,
    "attention": attention_row,
    "block": block,
}

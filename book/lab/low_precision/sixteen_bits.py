"""Products in 16 bits, emulated in float32; the sizes of gradients.

Operands and results of matrix products are rounded, forward and backward, while everything is
stored in float32: what autocast does to them, at the speed of any CPU.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.text import corpus
from mathlm.train import TokenWindows, next_token

aten = torch.ops.aten
PRODUCTS = {  # and how many axes those of their tensors have that 16 bits hold
    aten.mm: 2,
    aten.bmm: 3,
    aten._scaled_dot_product_flash_attention_for_cpu: 4,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: 4,
    aten._scaled_dot_product_efficient_attention: 4,
    aten._scaled_dot_product_efficient_attention_backward: 4,
}
SHAPE: dict[str, Any] = {
    **{"vocab_size": 256, "context": 64, "d_model": 64, "n_layers": 2, "n_heads": 4},
    **{"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False},
}


class RoundedProducts(TorchDispatchMode):
    """While it is active, matrix products take and give numbers of 16 bits.

    Args:
        dtype: float16 or bfloat16; None rounds nothing.
    """

    def __init__(self, dtype: torch.dtype | None) -> None:
        super().__init__()
        self.dtype = dtype

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Round what goes in and what comes out."""
        axes = PRODUCTS.get(func.overloadpacket)
        kwargs = kwargs or {}
        if self.dtype is None or axes is None:
            return func(*args, **kwargs)
        args, kwargs = tree_map_only(Tensor, lambda x: self.rounded(x, axes), (args, kwargs))
        return tree_map_only(
            Tensor, lambda x: self.rounded(x, axes), func(*args, **(kwargs or {}))
        )

    def rounded(self, x: Tensor, axes: int) -> Tensor:
        """``x`` as 16 bits hold it, if it is one of the factors or products."""
        held = x.ndim == axes and x.is_floating_point() and self.dtype is not None
        return x.to(self.dtype).to(x.dtype) if held else x


def small_model(seed: int = 0) -> tuple[GPT, AdamW]:
    """A GPT of two layers and its optimizer."""
    torch.manual_seed(seed)
    model = GPT(GPTConfig(**SHAPE))
    return model, AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)


def windows(seed: int = 0, held_out_bytes: int = 50_000) -> tuple[TokenWindows, TokenWindows]:
    """Training windows of the plays, and held-out ones."""
    texts = [np.frombuffer(part.encode(), np.uint8) for part in corpus.split("shakespeare")]
    sizes = {"context": SHAPE["context"], "vocab_size": 256, "seed": seed}
    held_out = TokenWindows(texts[1][:held_out_bytes], batch_size=64, **sizes)
    return TokenWindows(texts[0], batch_size=8, **sizes), held_out


def gradient_sizes(model: nn.Module, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Sizes of the gradients of a mean loss in activations and parameters, zeros left out.

    The activations are the outputs of all layers that have no layers inside.
    """
    found: list[Tensor] = []

    def watch(module: nn.Module, inputs: Any, output: Any) -> None:
        if isinstance(output, Tensor) and output.requires_grad:
            output.register_hook(found.append)

    leaves = [module for module in model.modules() if not [*module.children()]]
    hooks = [module.register_forward_hook(watch) for module in leaves]
    loss, count = next_token(model, batch)
    (loss / count).backward()
    for hook in hooks:
        hook.remove()
    weights = [p.grad for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    parts = {"activations": found, "parameters": weights}
    sizes = {name: torch.cat([g.abs().flatten() for g in gs]) for name, gs in parts.items()}
    return {name: size[size > 0] for name, size in sizes.items()}

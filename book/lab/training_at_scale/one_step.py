"""The step that several processes share: a tiny GPT, a batch, its loss and its gradient."""

import torch
from torch import Tensor, nn

from mathlm.models import GPT, GPTConfig
from mathlm.train.distributed import all_sum, rank, ranks

ROWS, CONTEXT, WIDTH, VOCABULARY = 8, 16, 32, 64
SHAPE = {"vocab_size": VOCABULARY, "context": CONTEXT, "d_model": WIDTH, "n_layers": 2}


def gpt() -> GPT:
    """A GPT of two blocks, the same in every process, in double precision."""
    torch.manual_seed(0)
    config = GPTConfig(**SHAPE, n_heads=4, position="none", tie_embeddings=False)  # type: ignore[arg-type]
    return GPT(config).double()


def layers() -> list[nn.Module]:
    """The same GPT as four layers, each a function of one tensor."""
    model = gpt()
    return [model.token_embedding, *model.blocks, nn.Sequential(model.final_norm, model.head)]


def batch() -> tuple[Tensor, Tensor]:
    """Token ids and, as targets, those that follow them; eight rows."""
    draws = torch.Generator().manual_seed(1)
    ids = torch.randint(VOCABULARY, (ROWS, CONTEXT + 1), generator=draws)
    return ids[:, :-1], ids[:, 1:]


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean over all targets of the whole batch, of the part that these rows add."""
    sums = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="sum")
    return sums / (ROWS * CONTEXT)


def gradient(model: nn.Module) -> Tensor:
    """All gradients as one vector."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def apart(found: Tensor, expected: Tensor) -> float:
    """Distance relative to the length of ``expected``, the largest over ranks."""
    distances = torch.zeros(ranks(), dtype=torch.float64)
    distances[rank()] = (found - expected).norm() / expected.norm()
    return all_sum(distances).max().item()

"""The world on which the book judges its methods of alignment."""

import math

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...models import GPT, GPTConfig
from ...shapes import Float, Int
from .world import World, all_completions

INSIDE = 1.5  # gain of the matrices within: texts that differ by a token are read differently


def standard_world(
    seed: int = 0,
    *,
    vocabulary: int = 6,
    length: int = 3,
    prompts: int = 4,
    end: int | None = None,
) -> World:
    """A small world with an uneven reference and random rewards.

    Six tokens and completions of three make 216; four prompts are one token each. The
    reference is a GPT of two layers with random weights, large enough that its next tokens
    are far from equally likely; rewards are normal, with mean 0 and standard deviation 1 over
    the completions of each prompt. The same seed gives the same world in any precision, up to
    rounding; weights and tables have torch's default dtype.

    Args:
        seed: Of weights and rewards.
        vocabulary: V, tokens.
        length: Tokens of a completion, at most.
        prompts: P, at most V.
        end: Token that ends a completion earlier; None = all are equally long.

    Raises:
        InputError: If the sizes do not fit.

    Example:
        >>> world = standard_world(vocabulary=3, length=2, prompts=2)
        >>> world.rewards.shape, bool((world.logp_ref.exp().sum(-1) - 1).abs().max() < 1e-5)
        (torch.Size([2, 9]), True)
    """
    if not 1 <= prompts <= vocabulary:
        raise InputError(f"prompts={prompts} must be between 1 and vocabulary={vocabulary}")
    draws = torch.Generator().manual_seed(seed)
    completions = all_completions(vocabulary, length, end)
    drawn = torch.randn(prompts, len(completions), generator=draws, dtype=torch.float64)
    model = random_gpt(vocabulary, 1 + length, draws)
    asked = torch.arange(prompts).unsqueeze(1)
    return world_of(model, asked, completions, standard_scores(drawn))


def world_of(
    model: nn.Module,
    prompts: Int[Tensor, "P n"],
    completions: Int[Tensor, "Y m"],
    rewards: Float[Tensor, "P Y"],
) -> World:
    """A world whose reference is a model: any causal one over the completions' tokens.

    Args:
        model: From ids (B, T) to logits (B, T, V); kept as it is, so do not train it.
        prompts: Ids (P, n).
        completions: Ids (Y, m), complete.
        rewards: r(x, y).

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(2, 4), torch.nn.Linear(4, 2))
        >>> with torch.no_grad():
        ...     nothing = [p.zero_() for p in model.parameters()]  # two tokens alike
        >>> prompts, completions = torch.tensor([[0]]), torch.tensor([[0], [1]])
        >>> world_of(model, prompts, completions, torch.tensor([[1.0, 3.0]])).logp_ref.exp()
        tensor([[0.5000, 0.5000]])
    """
    dtype = next(model.parameters()).dtype
    blank = torch.full(rewards.shape, -math.log(rewards.shape[1]), dtype=dtype)
    bare = World(prompts, completions, blank, rewards.to(dtype), model)
    with torch.no_grad():
        logp_ref = bare.log_probabilities(model)
    return World(prompts, completions, logp_ref, bare.rewards, model)


def standard_scores(values: Float[Tensor, "P Y"]) -> Float[Tensor, "P Y"]:
    """Each row with mean 0 and (population) standard deviation 1.

    Example:
        >>> standard_scores(torch.tensor([[1.0, 3.0]]))
        tensor([[-1.,  1.]])
    """
    centred = values - values.mean(-1, keepdim=True)
    return centred / centred.square().mean(-1, keepdim=True).sqrt()


@torch.no_grad()
def random_gpt(vocabulary: int, context: int, draws: torch.Generator) -> GPT:
    """A GPT of two layers whose next tokens are uneven, in torch's default dtype."""
    config = GPTConfig(
        vocab_size=vocabulary,
        context=context,
        d_model=64,
        n_layers=2,
        n_heads=4,
        activation="swiglu",
        tie_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        model = GPT(config).eval()
    for name, weights in model.named_parameters():
        if weights.ndim == 2:
            drawn = torch.randn(weights.shape, generator=draws, dtype=torch.float64)
            weights.copy_(drawn * _spread(name, weights.shape[1]))
    return model


def _spread(name: str, width: int) -> float:
    """Standard deviation of a matrix: an embedding's 1, the head's logits 1, inside more."""
    if name.startswith(("token_embedding", "position")):
        return 1.0
    return (1.0 if name.startswith("head") else INSIDE) / math.sqrt(width)

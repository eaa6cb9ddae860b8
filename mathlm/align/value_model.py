"""What a text is expected to earn, before each of its tokens."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from ..generate.decoding import evaluating
from ..models import GPT
from ..shapes import Float
from ..train.objectives import Batch
from .reward.model import RewardModel


class ValueModel(nn.Module):
    """One number at every position: a linear map of its final state.

    Computes::

        V[b, t] = wᵀ h[b, t] + c

    V[b, t] is what is expected of the text once ``ids[b, 0] … ids[b, t]`` stand there: it
    stands beside the target t, which is chosen next. The map starts at 0.

    Args:
        body: Its own head is not used. A copy of the policy, or of a reward model's body, is a
            good start; the policy itself makes both learn in the same weights.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> ValueModel(GPT(GPTConfig(**sizes)))(torch.tensor([[72, 105]])).tolist()  # at first
        [[0.0, 0.0]]
    """

    def __init__(self, body: GPT) -> None:
        super().__init__()
        self.body = body
        gain = next(body.final_norm.parameters())
        self.head = nn.Linear(body.config.d_model, 1).to(gain)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    @classmethod
    def from_reward_model(cls, model: RewardModel) -> "ValueModel":
        """A value model that starts with the weights of a reward model, and shares them."""
        values = cls(model.body)
        with torch.no_grad():
            values.head.weight.copy_(model.head.weight)
            values.head.bias.copy_(model.offset)
        return values

    def forward(self, ids: Tensor) -> Float[Tensor, "B T"]:
        """Values of the texts that end at each position, in 32 bits or more."""
        values = self.head(self.body.hidden(ids)).squeeze(-1)
        return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


class PolicyAndValue(nn.Module):
    """A policy and its value model as one module, for a trainer.

    Called, it is the policy.

    Args:
        policy: The language model.
        value: From ids (B, T) to values (B, T).

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> policy, value = GPT(GPTConfig(**sizes)), ValueModel(GPT(GPTConfig(**sizes)))
        >>> both, ids = PolicyAndValue(policy, value), torch.tensor([[72, 105]])
        >>> torch.equal(both(ids), policy(ids))
        True
    """

    def __init__(self, policy: nn.Module, value: nn.Module) -> None:
        super().__init__()
        self.policy, self.value = policy, value

    @property
    def config(self) -> dict[str, Any]:
        """What both are, for the record of a run."""
        body = getattr(self.value, "body", self.value)
        return {
            "policy": getattr(self.policy, "config", type(self.policy)),
            "value": getattr(body, "config", type(self.value)),
        }

    def forward(self, ids: Tensor, **options: Any) -> Tensor:
        """Logits of the policy."""
        return cast(Tensor, self.policy(ids, **options))


def target_values(model: nn.Module, batch: Batch) -> Float[Tensor, "B T"]:
    """What a value model expects at each position of a batch.

    As :func:`target_log_probabilities`, without dropout; gradients pass.

    Args:
        model: From ids (B, T) to values (B, T).
        batch: ``ids`` (B, T).

    Returns:
        (B, T); entry t is the value before the target t is chosen, and the one behind the last
        target that of the whole text.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = ValueModel(GPT(GPTConfig(**sizes)))
        >>> target_values(model, {"ids": torch.tensor([[72, 105]])}).tolist()  # untrained
        [[0.0, 0.0]]
    """
    with evaluating(model):
        return cast(Tensor, model(batch["ids"]))

"""What theory says of the first step of a run, before anything was learned."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ...errors import InputError

Kind = Literal["pretrain", "sft", "reward", "dpo", "grpo", "ppo"]
KINDS: tuple[Kind, ...] = get_args(Kind)
BETA = 0.1  # of the preference losses, where none is said


@dataclass(frozen=True)
class Expected:
    """A first value and where it comes from.

    Args:
        value: The value.
        because: Its source in a few words, such as ``ln 256``.
    """

    value: float
    because: str


def expected_first(
    kind: Kind,
    *,
    vocab_size: int | None = None,
    loss: str = "dpo",
    beta: float | int | None = None,
    margin: float | int = 0.0,
) -> dict[str, Expected]:
    """The values that a run shows at its first step if nothing is wrong with it.

    Computes::

        pretrain   loss = ln V                   new weights guess uniformly
        reward     loss = ln(1 + e^margin)       the head begins at 0: all answers are equal
        dpo        loss = ℓ(margin 0), margin = 0, accuracy = 1/2, kl = 0
        grpo, ppo  ratio = 1, kl = 0             the policy is the one that wrote, and π_ref

    The loss of a supervised run from a pretrained model (sft) is known by its base alone; all
    that is sure is that it lies below ln V.

    Args:
        kind: Of run.
        vocab_size: V; without it nothing is said of the loss of pretraining.
        loss: Of dpo: dpo, robust, length-normalized, ipo, hinge, kto, orpo or simpo. The last
            two have no reference, so that nothing is known of their first loss.
        beta: Of ipo: β; 0.1 if None.
        margin: Of reward: the margin that is asked for [nats].

    Returns:
        By the name that the number has in the history or in the rollouts.

    Raises:
        InputError: If there is no such kind.

    Example:
        >>> expected_first("dpo")["loss"]
        Expected(value=0.6931471805599453, because='ln 2')
    """
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is none of {', '.join(KINDS)}")
    if kind == "pretrain":
        return {} if vocab_size is None else {"loss": log_of(vocab_size)}
    if kind == "reward":
        because = f"ln(1 + e^{margin:g})" if margin else "ln 2"
        equal = Expected(0.5, "all answers are worth the same")
        return {"loss": Expected(math.log1p(math.exp(margin)), because), "accuracy": equal}
    if kind == "dpo":
        return first_of_preferences(loss, beta)
    if kind == "sft":
        return {}
    one = Expected(1.0, "the policy is still the one that wrote")
    return {"ratio": one, "kl": Expected(0.0, "the policy is still its reference")}


def log_of(vocab_size: int) -> Expected:
    """The negative log-likelihood of a uniform guess."""
    return Expected(math.log(vocab_size), f"ln {vocab_size}")


def first_of_preferences(loss: str, beta: float | int | None) -> dict[str, Expected]:
    """The losses of two equal implicit rewards, and what goes with them."""
    own = beta or BETA
    first = {
        "ipo": Expected(1 / (4 * own**2), f"(1/2β)² with β = {own:g}"),
        "hinge": Expected(1.0, "1 - 0"),
        "kto": Expected(0.5, "sigmoid(0)"),
    }
    if loss in ("orpo", "simpo"):
        return {}
    same = "the policy is still its reference"
    return {
        "loss": first.get(loss, Expected(math.log(2), "ln 2")),
        "margin": Expected(0.0, same),
        "accuracy": Expected(0.5, same),
        "kl": Expected(0.0, same),
    }


def loss_name(objective: Mapping[str, Any]) -> str:
    """The name that ``mathlm dpo --loss`` has for the class of an objective."""
    names = {"RobustDPO": "robust", "LengthNormalizedDPO": "length-normalized"}
    found = str(objective.get("class", "DPO"))
    return names.get(found, found.lower())


__all__ = ["KINDS", "Expected", "Kind", "expected_first"]

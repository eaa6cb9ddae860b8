"""The model that a policy is compared with: what it was before."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..shapes import Float
from ..train import unwrap
from ..train.objectives import Batch
from ..train.state import tensors_sha256
from .answers import LogProbabilities, target_log_probabilities


class Reference:
    """A model that stays as it is, and says how likely it finds texts.

    The model is frozen here: its parameters lose ``requires_grad``, so that a policy which is
    given as its own reference cannot be trained any more. Give it a model of its own, or
    :meth:`of` a policy, before the policy is trained.

    Args:
        model: From ``ids`` (B, T) to logits (B, T, V).
        policy: Which is trained, if it is at hand: it must be another model, see
            :func:`require_other`.
        read: From model and batch to log-probabilities (B, T) of what is asked.

    Raises:
        InputError: If the policy is its own reference, or shares trained weights with it.

    Example:
        >>> policy = torch.nn.Linear(2, 2)
        >>> reference = Reference.of(policy)  # a copy, which is frozen
        >>> [p.requires_grad for p in reference.model.parameters()], policy.weight.requires_grad
        ([False, False], True)
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        policy: nn.Module | None = None,
        read: LogProbabilities = target_log_probabilities,
    ) -> None:
        if policy is not None:
            require_other(policy, model)
        self.model, self.read = unwrap(model).requires_grad_(False).eval(), read

    @classmethod
    def of(
        cls, policy: nn.Module, *, read: LogProbabilities = target_log_probabilities
    ) -> "Reference":
        """What a policy is now, with its trained weights copied and its frozen ones shared.

        Of a policy with a low-rank update, only the update is copied: the reference is the
        base, with the update as it is now, and costs next to no memory.

        Args:
            policy: On the device where it will be trained.
            read: As for the class.
        """
        inner = unwrap(policy)
        shared: dict[int, Any] = {
            id(p): p for p in inner.parameters() if not p.requires_grad
        } | {id(b): b for b in inner.buffers() if not b.is_floating_point()}
        return cls(copy.deepcopy(inner, shared), policy=policy, read=read)

    @torch.no_grad()
    def log_probabilities(
        self, batch: Batch, *, temperature: float | int = 1.0
    ) -> Float[Tensor, "B T"]:
        """Log-probability of each token that is asked for [nats], without gradient."""
        return self.read(self.model, batch, temperature=temperature)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next((p.device for p in self.model.parameters()), torch.device("cpu"))

    @property
    def sha256(self) -> str:
        """SHA-256 of all weights, by names; another one than before, if one of them changed."""
        return tensors_sha256(self.model.state_dict())


def require_reference(reference: object) -> None:
    """Refuse a model that may still be trained."""
    if not isinstance(reference, Reference):
        raise InputTypeError(
            f"the reference is a {type(reference).__name__}: give Reference(model) of a model "
            "of its own, or Reference.of(policy)"
        )


def require_other(policy: nn.Module, reference: "Reference | nn.Module") -> None:
    """Refuse a policy as its own reference, and a reference that is trained along with it.

    Raises:
        InputError: If both are one model, or a weight of the reference is trained in the
            policy.

    Example:
        >>> policy = torch.nn.Linear(2, 2)
        >>> require_other(policy, policy)
        Traceback (most recent call last):
        mathlm.errors.InputError: policy passed as its own reference: ...
    """
    other = reference.model if isinstance(reference, Reference) else unwrap(reference)
    if other is unwrap(policy):
        raise InputError(
            "policy passed as its own reference: they would never differ; give "
            "Reference.of(policy), made before the policy is trained"
        )
    theirs = {id(p): name for name, p in other.named_parameters()}
    places = {p.data_ptr(): n for n, p in other.named_parameters() if p.numel()}
    for name, p in unwrap(policy).named_parameters():
        if not p.requires_grad:
            continue
        same = theirs.get(id(p)) or (places.get(p.data_ptr()) if p.numel() else None)
        if same is not None:
            raise InputError(
                f"{name} of the policy is trained and is {same} of its reference too: it "
                "would change with the policy; give Reference.of(policy)"
            )


def require_trained(model: nn.Module, losses: Tensor) -> None:
    """Refuse to train a model of which nothing is trained, as one that became a reference."""
    if model.training and torch.is_grad_enabled() and not losses.requires_grad:
        raise InputError(
            "no weight of the policy is trained: Reference(model) freezes the model that it is "
            "given; was the policy passed as its own reference? Give Reference.of(policy)"
        )


__all__ = ["Reference", "require_other"]

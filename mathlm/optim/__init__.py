"""Optimizers and schedules, written from their equations."""

from .adam import Adam, AdamEpsilonHat, AdamW
from .clipping import clip_grad_norm, grad_norm
from .muon import Muon
from .schedules import (
    constant,
    cosine_restarts,
    followed_by,
    noam,
    warmup,
    warmup_cosine,
    warmup_stable_decay,
)
from .sgd import SGD, RMSProp
from .update import exponential_decay, linear_decay, polynomial_decay, step_decay
from .width import scale_start, width_groups

__all__ = [
    "SGD",
    "Adam",
    "AdamEpsilonHat",
    "AdamW",
    "Muon",
    "RMSProp",
    "clip_grad_norm",
    "constant",
    "cosine_restarts",
    "exponential_decay",
    "followed_by",
    "grad_norm",
    "linear_decay",
    "noam",
    "polynomial_decay",
    "scale_start",
    "step_decay",
    "warmup",
    "warmup_cosine",
    "warmup_stable_decay",
    "width_groups",
]

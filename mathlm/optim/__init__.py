"""Optimizers and schedules, written from their equations."""

from .adam import Adam, AdamEpsilonHat
from .adamw import AdamW
from .clipping import clip_grad_norm, grad_norm
from .decay import exponential_decay, linear_decay, polynomial_decay, step_decay
from .muon import Muon
from .rmsprop import RMSProp
from .schedules import constant, cosine_restarts, noam, warmup, warmup_cosine
from .sgd import SGD
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
    "grad_norm",
    "linear_decay",
    "noam",
    "polynomial_decay",
    "scale_start",
    "step_decay",
    "warmup",
    "warmup_cosine",
    "width_groups",
]

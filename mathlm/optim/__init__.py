"""Optimizers and schedules, written from their equations."""

from .adamw import AdamW
from .clipping import clip_grad_norm, grad_norm
from .schedules import noam, warmup_cosine

__all__ = ["AdamW", "clip_grad_norm", "grad_norm", "noam", "warmup_cosine"]

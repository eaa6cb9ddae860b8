"""The style of the figures, the frame of the demos, and figures that several pages share."""

from . import style
from .demo import Demo
from .figures import (
    curve_panels,
    head_maps,
    influence_maps,
    mask_panels,
    probe_table,
    reliability,
)
from .training_run import training_run

__all__ = [
    "style",
    "Demo",
    "curve_panels",
    "head_maps",
    "influence_maps",
    "mask_panels",
    "probe_table",
    "reliability",
    "training_run",
]

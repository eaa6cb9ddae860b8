"""What the page calls plot: its figures and demo, and those that all pages share."""

from mathlm.plot import influence_maps, style

from .demos import gate_demo
from .figures import (
    bend,
    block_flow,
    block_shapes,
    epsilon_effect,
    factory,
    norm_geometry,
    projection_cycle,
    switches,
)

__all__ = [
    "bend",
    "block_flow",
    "block_shapes",
    "epsilon_effect",
    "factory",
    "gate_demo",
    "influence_maps",
    "norm_geometry",
    "projection_cycle",
    "style",
    "switches",
]

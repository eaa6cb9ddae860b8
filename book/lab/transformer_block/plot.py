"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import influence_maps, style

from .demos import block_demo, gate_demo
from .figures import (
    bend,
    block_flow,
    depth_panels,
    depth_training,
    epsilon_effect,
    factory,
    norm_geometry,
    projection_cycle,
    switches,
)

__all__ = [
    "bend",
    "block_demo",
    "block_flow",
    "depth_panels",
    "depth_training",
    "epsilon_effect",
    "factory",
    "gate_demo",
    "influence_maps",
    "norm_geometry",
    "projection_cycle",
    "style",
    "switches",
]

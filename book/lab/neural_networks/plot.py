"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import activation_demo, bent_plane_demo, xor_line_demo
from .figures import (
    activation_curves,
    confusion,
    gradient_chain,
    image_row,
    learning_curves,
    loss_slopes,
    neuron_plane,
    power_of_width,
    share_solved,
    sorted_losses,
    traced_network,
    xor_fold,
)

__all__ = [
    "activation_curves",
    "activation_demo",
    "bent_plane_demo",
    "confusion",
    "gradient_chain",
    "image_row",
    "learning_curves",
    "loss_slopes",
    "neuron_plane",
    "power_of_width",
    "share_solved",
    "sorted_losses",
    "style",
    "traced_network",
    "xor_fold",
    "xor_line_demo",
]

"""One look for every figure: quiet axes, color-blind-safe colors, readable on a phone."""

from typing import Any

import matplotlib as mpl
from cycler import cycler

BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, YELLOW, GRAY = "#CC79A7", "#56B4E9", "#F0E442", "#6B6B6B"
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY, GRAY)  # Okabe and Ito (2008)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*", "h", "<", ">")
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"

WIDE, SQUARE, TALL = (6.4, 3.4), (4.4, 4.4), (6.4, 5.2)  # [inch]

RC: dict[Any, Any] = {
    "figure.figsize": WIDE,
    "figure.dpi": 110,
    "figure.facecolor": "white",
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.prop_cycle": cycler(color=COLORS),
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "image.cmap": SEQUENTIAL,
}


def use() -> None:
    """Give every figure made from now on the style of the book."""
    mpl.rcParams.update(RC)

"""The shapes of one layer, in rows and in columns."""

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mathlm.plot.style import BLUE, GRAY, GREEN, ORANGE


def layer_shapes(T: int, I: int, O: int) -> Figure:  # noqa: E741 (the letters of the page)
    """One layer on a sequence, drawn to scale: with tokens as rows, and as columns.

    Args:
        T: Tokens.
        I: Inputs of the layer.
        O: Outputs.
    """
    fig, axes = plt.subplots(1, 2, figsize=(7.4, 2.3))
    rows = [("X", T, I, "T × I"), ("Wᵀ", I, O, "I × O"), ("Y", T, O, "T × O")]
    columns = [("W", O, I, "O × I"), ("Xᵀ", I, T, "I × T"), ("Yᵀ", O, T, "O × T")]
    _product(axes[0], rows, "tokens are rows (this book, every library)")
    _product(axes[1], columns, "tokens are columns (most mathematics)")
    most = max(T, I, O)
    for ax in axes:
        ax.set(xlim=(-0.4, 2 * most + max(I, O, T) + 1), ylim=(-most / 2 - 1.6, most / 2 + 0.4))
    return fig


def _product(ax: Axes, factors: list[tuple[str, int, int, str]], title: str) -> None:
    """Rectangles of these heights and widths, the third the product of the first two."""
    x, tallest = 0.0, max(height for _, height, _, _ in factors)
    for (name, height, width, shape), sign in zip(factors, ("·", "=", ""), strict=True):
        color = {"X": BLUE, "W": ORANGE, "Y": GREEN}[name[0]]
        ax.add_patch(Rectangle((x, -height / 2), width, height, color=color, alpha=0.35))
        _first_token(ax, x, name, height, width, color)
        ax.text(x + width / 2, 0, name, ha="center", va="center", weight="bold", size=13)
        ax.text(x + width / 2, -tallest / 2 - 1.1, shape, ha="center", color=GRAY)
        ax.text(x + width + 0.75, 0, sign, ha="center", va="center", size=14)
        x += width + 1.5
    ax.set_aspect("equal")
    ax.set_title(title, size=10)
    ax.axis("off")


def _first_token(ax: Axes, x: float, name: str, height: int, width: int, color: str) -> None:
    """The first token of X and Y, dark: a row, or in a transposed matrix a column."""
    if name == "Wᵀ" or name == "W":
        return
    across = not name.endswith("ᵀ")
    corner = (x, height / 2 - 1) if across else (x, -height / 2)
    size = (width, 1) if across else (1, height)
    ax.add_patch(Rectangle(corner, *size, color=color))


__all__ = ["layer_shapes"]

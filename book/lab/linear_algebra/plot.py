"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import matrix_demo, pca_demo
from .figures import (
    cloud_axes,
    collapse,
    eigen_and_singular,
    gain_by_rank,
    neighbors_kept,
    norm_balls,
    spectra,
    square_images,
    two_bases,
    word_map,
)

__all__ = [
    "cloud_axes",
    "collapse",
    "eigen_and_singular",
    "gain_by_rank",
    "matrix_demo",
    "neighbors_kept",
    "norm_balls",
    "pca_demo",
    "spectra",
    "square_images",
    "style",
    "two_bases",
    "word_map",
]

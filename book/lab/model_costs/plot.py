"""What the page calls plot: its figures and demo, and the style."""

from mathlm.plot import style

from .demos import architecture_calculator_demo
from .figures import intensity_lines, rule_of_six, stacked_parts

__all__ = [
    "architecture_calculator_demo",
    "intensity_lines",
    "rule_of_six",
    "stacked_parts",
    "style",
]

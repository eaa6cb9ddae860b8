"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style
from mathlm.plot.whole_stack import (
    cleaning_steps,
    counted_and_printed,
    knowledge_stack,
    models_compared,
    three_trainings,
)

from .demos import token_way_demo

__all__ = [
    "cleaning_steps",
    "counted_and_printed",
    "knowledge_stack",
    "models_compared",
    "style",
    "three_trainings",
    "token_way_demo",
]

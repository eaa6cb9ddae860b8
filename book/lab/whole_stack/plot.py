"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style
from mathlm.plot.whole_stack import (
    cleaning_steps,
    counted_and_printed,
    knowledge_stack,
    models_compared,
    stage_seconds,
    three_trainings,
)

__all__ = [
    "cleaning_steps",
    "counted_and_printed",
    "knowledge_stack",
    "models_compared",
    "stage_seconds",
    "style",
    "three_trainings",
]

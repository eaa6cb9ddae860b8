"""The command: ``mathlm whole_stack``, or ``python -m mathlm.recipes.whole_stack``."""

from ..command import execute
from . import main

if __name__ == "__main__":
    execute(main)

"""The command: ``python -m mathlm.recipes.whole_stack``."""

import logging
import sys

from ...errors import MathLMError
from . import main

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")

"""``python -m mathlm COMMAND ...`` is the console script ``mathlm``."""

from .recipes.__main__ import main

if __name__ == "__main__":
    main()

"""What makes a command of a function: its options are the fields of a frozen dataclass.

The module of a command has a configuration, ``run(config)``, which Python calls as well, and
``main(argv)``: ``run(parse(Config, argv))``. Nested dataclasses are groups of options in
``--help``; a field's docstring is its help.
"""

import logging
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import Any, TypeVar

import tyro

from ..errors import ConfigError, MathLMError

C = TypeVar("C")
FORM = (tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff)


def parse(config: type[C], argv: Sequence[str] | None = None, prog: str | None = None) -> C:
    """Options from the command line as a configuration; a wrong one ends the program with 2.

    Args:
        config: A frozen dataclass, with a docstring for each field.
        argv: The words; None = those of the command.
        prog: Name of the command in ``--help``; None = how it was called.

    Raises:
        ConfigError: If two options contradict each other (the dataclass says so).
    """
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return tyro.cli(config, args=argv, prog=prog, config=FORM)
    except SystemExit as end:
        if (error := refusal(end)) is not None:
            raise error from None
    return tyro.cli(config, args=argv, prog=prog, config=FORM)  # helps, or says what is wrong


def refusal(error: BaseException | None) -> ConfigError | None:
    """The refusal of a configuration that ended tyro, which would print it in a box."""
    while error is not None and not isinstance(error, ConfigError):
        error = error.__context__
    return error


def execute(
    main: Callable[[Sequence[str] | None], Any], argv: Sequence[str] | None = None
) -> None:
    """Run a command as a program: its log goes to standard error.

    An error that a user can mend is one sentence, with exit status 1.
    """
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main(argv)
    except MathLMError as error:
        sys.exit(f"error: {error}")

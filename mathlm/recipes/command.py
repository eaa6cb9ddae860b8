"""What makes a command of a function: its options are the fields of a frozen dataclass.

The module of a command has a configuration, ``run(config)``, which Python calls as well, and
``main(argv)``: ``run(parse(Config, argv))``. Nested dataclasses are groups of options in
``--help``; a field's docstring is its help.
"""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields, is_dataclass
from io import StringIO
from typing import Annotated, Any, TypeVar

import tyro

from ..errors import MathLMError
from ..progress import in_notebook

C = TypeVar("C")
T = TypeVar("T")
UNSAID = tyro.conf.arg(
    help_behavior_hint=lambda value: "" if value == "None" else f"(default: {value})"
)
Maybe = Annotated[T | None, UNSAID]
"""An option that may be left out; its help says what holds then, in place of "None"."""
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
    options: dict[str, Any] = {"args": argv, "prog": prog, "config": FORM}
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return tyro.cli(config, **options)
    except SystemExit as end:
        cause = end.__context__
        while cause is not None and not isinstance(cause, MathLMError):
            cause = cause.__context__
        if cause is not None:  # our own sentence, not within a box of tyro's
            raise cause from None
    return tyro.cli(config, **options)  # says what is wrong, or helps


def flat(config: Any) -> dict[str, Any]:
    """Options by name, those of the groups too: for the record of a run."""
    found: dict[str, Any] = {}
    for field in fields(config):
        value = getattr(config, field.name)
        found |= flat(value) if is_dataclass(value) else {field.name: value}
    return found


def execute(
    main: Callable[[Sequence[str] | None], Any], argv: Sequence[str] | None = None
) -> None:
    """Run a command as a program: its log goes to standard error, in a notebook below the cell.

    An error that a user can mend is one sentence, with exit status 1. Ctrl-C, and an output
    that nobody reads any more (``| head``), end the program with the status of the signal.
    """
    log_to = sys.stdout if in_notebook() else sys.stderr  # which a notebook shows as an error
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=log_to)
    try:
        try:
            main(argv)
        finally:
            sys.stdout.flush()  # a closed pipe is noticed here and not when Python ends
    except MathLMError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)

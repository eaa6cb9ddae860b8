"""The one progress reporter of the package: a bar for people, silence for programs.

A bar is shown in a terminal and in a notebook. Nothing is written under a test, when standard
error is a pipe or a file, or when ``MATHLM_PROGRESS=off``.
"""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TypeVar

from tqdm.std import tqdm

from .errors import ConfigError

Item = TypeVar("Item")
SWITCH = "MATHLM_PROGRESS"


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ in {"ZMQInteractiveShell", "Shell"}  # Shell: Colab


def is_shown() -> bool:
    """Whether somebody is there to read a bar.

    Raises:
        ConfigError: If ``MATHLM_PROGRESS`` is set to something else than ``on`` or ``off``.
    """
    choice = os.environ.get(SWITCH, "")
    if choice not in {"", "on", "off"}:
        raise ConfigError(f"{SWITCH}={choice!r} must be 'on', 'off' or unset")
    if choice:
        return choice == "on"
    if "PYTEST_CURRENT_TEST" in os.environ:
        return False
    return in_notebook() or (sys.stderr is not None and sys.stderr.isatty())


def lines_above_bar() -> AbstractContextManager[None]:
    """Tqdm's way to keep log lines and a bar apart on one screen.

    Loaded here and not above: it warns, in a notebook, that a widget is missing which no bar
    of this package uses.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tqdm.contrib.logging import logging_redirect_tqdm
    return logging_redirect_tqdm()


class Progress:
    """A bar over a known number of steps, used in a ``with`` statement.

    Lines that are logged to the same screen meanwhile appear above the bar.

    Args:
        total: Number of steps.
        description: Words in front of the bar.
        start: Steps already done, by a run that is continued.
        shown: Whether to show a bar where there is somebody to read it; of several processes
            on one screen, one should.

    Example:
        >>> with Progress(3, "layers", shown=False) as bar:
        ...     for layer in range(3):
        ...         bar.update(loss=0.5)
    """

    def __init__(
        self, total: int, description: str = "", start: int = 0, shown: bool = True
    ) -> None:
        self._bar = None
        self._log = ExitStack()
        if shown and is_shown():
            self._bar = tqdm(
                total=total,
                desc=description,
                initial=start,
                file=sys.stderr,
                dynamic_ncols=True,
            )

    def update(self, steps: int = 1, **values: float) -> None:
        """Advance by ``steps`` and show the latest ``values`` beside the bar."""
        if self._bar is not None:
            self._bar.set_postfix(
                {name: f"{x:.4g}" for name, x in values.items()}, refresh=False
            )
            self._bar.update(steps)

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._log.enter_context(lines_above_bar())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        self._log.close()


def track(items: Iterable[Item], description: str = "") -> Iterator[Item]:
    """Yield ``items`` and show how many are done.

    Example:
        >>> sum(track([1, 2, 3], "adding"))
        6
    """
    items = list(items)
    with Progress(len(items), description) as bar:
        for item in items:
            yield item
            bar.update()


__all__ = ["Progress", "in_notebook", "is_shown", "track"]

"""Ctrl-C and SIGTERM as a wish to stop after the current step."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """While the ``with`` block runs, the first signal is noted; a second one acts at once.

    Attributes:
        signal: Number of the signal that came, or 0.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._handlers: dict[int, Any] = {}

    @property
    def exit_code(self) -> int:
        """Exit status that shells give to a process ended by the signal: 130 or 143."""
        return 128 + (self.signal or signal.SIGTERM)

    def __enter__(self) -> "Interruption":
        self.signal = 0
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        self._handlers = {}

"""A thing that looks wrong, in sentences."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["severe", "warning"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was seen in a run, what a healthy one shows, and what may be the cause.

    Args:
        name: A few words, the same for every run that shows it.
        severity: severe: the run learns something else than it is asked to, or nothing;
            warning: it may be meant so.
        seen: A sentence with the numbers and the step.
        healthy: A sentence on what a healthy run shows.
        causes: The most likely first.
        advice: What to try.
    """

    name: str
    severity: Severity
    seen: str
    healthy: str
    causes: tuple[str, ...]
    advice: str

    @property
    def sentences(self) -> str:
        """All of it as one paragraph."""
        causes = "; ".join(f"({i}) {cause}" for i, cause in enumerate(self.causes, 1))
        return f"{self.seen} {self.healthy} Likely causes: {causes}. Try this: {self.advice}"


__all__ = ["Finding"]

"""What else a run carries from step to step, such as averages of the weights."""

import re
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from torch import Tensor

from ..errors import CheckpointMismatchError, InputError
from ..models.files.weights import check_tensors_fit
from ..optim.shards import part_like

TAKEN = {"model", "optimizer", "state", "manifest"}


@runtime_checkable
class Stateful(Protocol):
    """Something whose state is a flat dict of tensors and JSON values."""

    def state_dict(self) -> dict[str, Any]:
        """The state; tensors may be shards."""

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        """Take such a state."""


def check_names(parts: Mapping[str, Stateful | None]) -> None:
    """Refuse names that are no file names or are those of other files of a checkpoint."""
    for name in parts:
        if name in TAKEN or not re.fullmatch(r"[a-z_]+", name):
            raise InputError(
                f"the part {name!r} of a checkpoint needs a name of small letters and _, and "
                f"none of {', '.join(sorted(TAKEN))}"
            )


def tensors_of(part: Stateful) -> dict[str, Tensor]:
    """The tensors in the state of ``part``."""
    return {k: v for k, v in part.state_dict().items() if isinstance(v, Tensor)}


def numbers_of(part: Stateful) -> dict[str, Any]:
    """The rest of the state of ``part``."""
    return {k: v for k, v in part.state_dict().items() if not isinstance(v, Tensor)}


def check_part_fits(
    name: str, part: Stateful, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]
) -> None:
    """Refuse a saved state that is not one of ``part``.

    A part whose tensors change their shapes has a method ``require_state(state)``, which says
    so itself.
    """
    if hasattr(part, "require_state"):
        part.require_state({**tensors, **numbers})
        return
    check_tensors_fit(f"state does not fit {name}", tensors, tensors_of(part))
    own = numbers_of(part)
    if own.keys() != numbers.keys():
        raise CheckpointMismatchError(
            f"state does not fit {name}: it has {', '.join(sorted(numbers)) or 'no numbers'}, "
            f"expected {', '.join(sorted(own)) or 'none'}"
        )


def load_part(part: Stateful, tensors: Mapping[str, Tensor], numbers: dict[str, Any]) -> None:
    """Give ``part`` a saved state, known to fit, with its tensors cut as its own are."""
    own = tensors_of(part)
    cut = {k: part_like(t, own[k]) if k in own else t for k, t in tensors.items()}
    part.load_state_dict(cut | numbers)

"""Which device a run uses."""

import logging
import os
from typing import Literal

import torch

from ..errors import ConfigError, DeviceError

log = logging.getLogger(__name__)
DeviceName = Literal["cpu", "cuda", "auto"]


def resolve_device(name: DeviceName = "auto") -> torch.device:
    """The device that ``name`` stands for on this machine.

    Args:
        name: ``cpu``, ``cuda``, or ``auto``: CUDA where there is one, else the CPU.

    Returns:
        The device; under ``torchrun`` the GPU of the local rank.

    Raises:
        ConfigError: If the name is another one.
        DeviceError: If CUDA is asked for and torch sees none.
    """
    if name not in ("cpu", "cuda", "auto"):
        raise ConfigError(f"device={name!r} must be 'cpu', 'cuda' or 'auto'")
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if name == "cuda":
        raise DeviceError(
            "CUDA was asked for but torch sees none; use device='cpu' or 'auto', or install a "
            f"CUDA build of torch (this one is {torch.__version__})"
        )
    log.info("device='auto': torch sees no CUDA, the run uses the CPU")
    return torch.device("cpu")

"""The options of the machine, for the commands whose parser is made by hand."""

import argparse
from typing import get_args

from ..train.parallel import KINDS
from ..train.precision import Precision


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Where the run computes, and in which numbers."""
    add = parser.add_argument
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to run")
    add("--dtype", default="float32", choices=["float32", "float64"], help="of the weights")
    add("--precision", default="full", choices=get_args(Precision), help="of the products")
    add("--compile", action="store_true", help="compile the model by torch.compile")
    add("--recompute", action="store_true", help="forget activations, compute them again")
    add("--parallel", default="sum", choices=KINDS, help="how processes share the work")
    add("--timeout", type=float, default=60.0, help="longest wait for a process [seconds]")

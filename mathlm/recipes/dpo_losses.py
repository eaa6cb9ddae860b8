"""Losses of recipes.dpo by name, each with the options that it has.

    python -m mathlm.recipes.dpo_losses

Prints them, with what the options are if not given.
"""

import argparse
from dataclasses import fields
from typing import Any

from ..align import DPO, IPO, KTO, ORPO, Hinge, LengthNormalizedDPO, RobustDPO, SimPO
from ..errors import ConfigError
from ..train.objectives import Objective
from .sft_method_options import flag

LOSSES: dict[str, Any] = {
    "dpo": DPO,
    "robust": RobustDPO,
    "ipo": IPO,
    "hinge": Hinge,
    "length-normalized": LengthNormalizedDPO,
    "kto": KTO,
    "orpo": ORPO,
    "simpo": SimPO,
}
FREE = ("orpo", "simpo")  # of a reference


def add_losses(parser: argparse.ArgumentParser) -> None:
    """What is minimized; an option that is not given has the loss's own value."""
    add = parser.add_argument
    add("--loss", choices=LOSSES, default="dpo", help="what is minimized")
    add("--beta", type=float, help="price of the divergence; 0.1, of simpo 2")
    add("--label-smoothing", type=float, help="share of wrong labels (conservative); 0")
    add("--flip", type=float, help="of robust: share of flipped labels; 0.1")
    add("--per-token", action="store_true", default=None, help="of ipo: means over tokens")
    add("--weight", type=float, help="of orpo: weight of the odds ratio; 0.1")
    add("--gamma", type=float, help="of simpo: margin that is asked for; 1")
    add("--desirable-weight", type=float, help="of kto: weight of good answers; 1")
    add("--undesirable-weight", type=float, help="of kto: weight of bad answers; 1")


def own_options(loss: str) -> dict[str, Any]:
    """Options of a loss, with their values if not given."""
    return {f.name: f.default for f in fields(LOSSES[loss]) if f.name != "read"}


def fill_loss(args: argparse.Namespace) -> None:
    """Give the options of the loss their values.

    Raises:
        ConfigError: If an option of another loss was given.
    """
    own = own_options(args.loss)
    for name in sorted({name for loss in LOSSES for name in own_options(loss)}):
        if getattr(args, name) is None:
            setattr(args, name, own.get(name))
        elif name not in own:
            raise ConfigError(f"{flag(name)} is no option of --loss {args.loss}")


def objective(args: argparse.Namespace) -> Objective:
    """The objective of the options."""
    return LOSSES[args.loss](**{name: getattr(args, name) for name in own_options(args.loss)})


if __name__ == "__main__":
    for name in LOSSES:
        print(name, " ".join(f"{flag(key)} {x}" for key, x in own_options(name).items()))

"""Which linear maps of a model are meant, by the last parts of their names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import torch
from torch import nn

from ..errors import InputError, InputTypeError
from ..layers.low_rank import LoRALinear
from ..layers.quantization import QuantizedLinear

ALL = "all-linear"


@dataclass(frozen=True)
class Site:
    """A place of a model where a module stands.

    Args:
        name: Full name of the module.
        parent: What holds it.
        attribute: Its name there.
        module: The module.
    """

    name: str
    parent: nn.Module
    attribute: str
    module: nn.Module

    @property
    def linear(self) -> bool:
        """Whether it is a linear map that may get a low-rank update, with nothing behind it."""
        module = self.module
        plain = isinstance(module, nn.Linear) and type(module).forward is nn.Linear.forward
        return plain or isinstance(module, QuantizedLinear | LoRALinear)


def sites(model: nn.Module, prefix: str = "") -> Iterator[Site]:
    """Every place below a model, one that is reached twice under each name."""
    for attribute, module in model._modules.items():
        if module is None:
            continue
        name = f"{prefix}{attribute}"
        yield Site(name, model, attribute, module)
        if not isinstance(module, LoRALinear):
            yield from sites(module, f"{name}.")


def find_targets(model: nn.Module, targets: str | Sequence[str]) -> list[Site]:
    """The linear maps that targets name.

    Args:
        model: Where they are looked for.
        targets: Last parts of names, such as "W_q", "attention.W_q" or
            "blocks.0.attention.W_q"; or "all-linear", every linear map of the blocks.

    Raises:
        InputError: If there are none, or one of them names no linear map.
        InputTypeError: If they are no names.
    """
    everywhere = list(sites(model))
    linear = [site for site in everywhere if site.linear]
    if targets == ALL:
        return require_blocks(linear)
    names = [targets] if isinstance(targets, str) else as_list(targets)
    if not names:
        raise InputError('targets is empty: name linear maps, such as ("W_q", "W_v")')
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"targets has {name!r}: give names, such as ('W_q', 'W_v')")
        if not any(matches(site, name) for site in linear):
            raise InputError(nothing_matches(name, everywhere))
    return [site for site in linear if any(matches(site, name) for name in names)]


def as_list(targets: object) -> list:
    """Names as a list; an error for what is no sequence."""
    if not isinstance(targets, Sequence):
        raise InputTypeError(
            f"targets={targets!r} is a {type(targets).__name__}: give names, such as "
            '("W_q", "W_v"), or "all-linear"'
        )
    return list(targets)


def matches(site: Site, target: str) -> bool:
    """Whether a target is the last parts of a name."""
    return site.name == target or site.name.endswith(f".{target}")


def require_blocks(linear: list[Site]) -> list[Site]:
    """Those inside of blocks, which are the modules with a number in their names."""
    found = [site for site in linear if any(part.isdigit() for part in site.name.split("."))]
    if not found:
        names = ", ".join(site.name for site in linear) or "none at all"
        raise InputError(
            f"targets={ALL!r}: the model has no linear map in a block; its maps are {names}"
        )
    return found


def nothing_matches(target: str, everywhere: list[Site]) -> str:
    """What is wrong with a target that names no linear map, and which names are near."""
    if target == ALL:
        return f"{ALL!r} stands for itself: say targets={ALL!r}, or name the maps of a list"
    others = [site for site in everywhere if matches(site, target)]
    if others:
        kind = type(others[0].module).__name__
        inside = [s.name for s in everywhere if s.linear and s.name.startswith(others[0].name)]
        rest = f"; there are linear maps inside: {', '.join(inside[:8])}" if inside else ""
        return (
            f"target {target!r} names {others[0].name}, which is no linear map but of kind "
            f"{kind}: low-rank updates are for linear maps{rest}"
        )
    ends = dict.fromkeys(site.attribute for site in everywhere if site.linear)
    depth = target.count(".") + 1
    names = {".".join(s.name.split(".")[-depth:]) for s in everywhere if s.linear}
    near = get_close_matches(target, sorted({*ends, *names}), 3, 0.5)
    hint = f"; near it: {', '.join(near)}" if near else ""
    known = ", ".join(ends) or "none"
    return f"target {target!r} names no linear map{hint}; the model's are called {known}"


def require_model(model: Any) -> None:
    """Refuse what is no model."""
    if not isinstance(model, nn.Module):
        raise InputTypeError(f"model is a {type(model).__name__}: give a torch.nn.Module")


def require_flag(what: str, value: Any) -> None:
    """Refuse what is neither True nor False: a word such as "no" would count as True."""
    if not isinstance(value, bool):
        raise InputTypeError(f"{what}={value!r} must be True or False")


def drawn_by(seed: Any) -> torch.Generator | None:
    """A generator on the CPU with this seed; None = torch's own.

    Raises:
        InputTypeError: If the seed is no whole number.
        InputError: If it is outside of what a generator takes.
    """
    if seed is None:
        return None
    if type(seed) is not int:
        raise InputTypeError(f"seed={seed!r} must be a whole number, or None")
    if not -(2**63) <= seed < 2**64:
        raise InputError(f"seed={seed} is outside -2^63 ... 2^64 - 1: give a smaller one")
    return torch.Generator().manual_seed(seed)

"""Names of linear maps as other programs have them, and which maps a list of names means."""

import re
from collections.abc import Iterable, Sequence

from torch import nn

from ..errors import ConfigError
from ..models import GPT
from ..models.files.gpt_folder import GPT2_PARTS, LLAMA_PARTS, their_name
from ..models.files.gpt_saving import kind_of
from .targets import Site, sites

FUSED = "c_attn"  # GPT-2's queries, keys and values in one matrix


def linear_sites(model: nn.Module) -> dict[str, Site]:
    """Places of all linear maps by name."""
    return {site.name: site for site in sites(model) if site.linear}


def model_type(model: nn.Module) -> str | None:
    """Hugging Face's type of a model, if there is one with its choices."""
    if not isinstance(model, GPT):
        return None
    try:
        return kind_of(model.config)
    except ConfigError:
        return None


def their_names(model: nn.Module) -> dict[str, str]:
    """Hugging Face's name of every linear map, by ours; empty if it has no such type."""
    kind = model_type(model)
    if kind is None:
        return {}
    parts, body = (GPT2_PARTS, "transformer") if kind == "gpt2" else (LLAMA_PARTS, "model")
    named = {name: their_name(name, parts) for name in linear_sites(model)}
    return {n: t if t == "lm_head" else f"{body}.{t}" for n, t in named.items()}


def shortest(chosen: Sequence[str], known: Iterable[str]) -> list[str]:
    """Last parts of names that mean the chosen ones and no other, as short as possible."""
    found: dict[str, None] = {}
    everything, wanted = list(known), set(chosen)
    for name in chosen:
        parts = name.split(".")
        ends = (".".join(parts[-depth:]) for depth in range(1, len(parts) + 1))
        found[next(end for end in ends if meant([end], everything) <= wanted)] = None
    return sorted(found)


def meant(targets: Iterable[str], names: Iterable[str]) -> set[str]:
    """The names that are one of the targets, or end with one."""
    ends = [(target, f".{target}") for target in targets]
    return {n for n in names if any(n == own or n.endswith(dotted) for own, dotted in ends)}


def of_pattern(patterns: Iterable[str], name: str) -> str | None:
    """The first of peft's patterns that a name has at its end."""
    for pattern in patterns:
        try:
            if re.match(rf"(.*\.)?({pattern})$", name):
                return pattern
        except re.error:
            continue
    return None

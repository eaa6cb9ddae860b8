"""Low-rank updates in the files of the peft package: its configuration, matrices and names."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from ..errors import CheckpointMismatchError, ConfigError
from ..layers.low_rank import LoRALinear, LoRASettings
from ..models import GPT
from ..models.files.gpt import GPT2_PARTS, LLAMA_PARTS, their_name
from ..models.files.saving import kind_of
from ..models.files.weights import listed
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


PREFIX = "base_model.model."
TENSOR = re.compile(r"(?:base_model\.model\.)?(.+)\.lora_([AB])(?:\.[^.]+)?\.weight")
STARTS = (True, False, "gaussian", "eva", "orthogonal")  # those that leave the base as it is
READ = {
    "peft_type",
    "r",
    "lora_alpha",
    "lora_dropout",
    "use_rslora",
    "rank_pattern",
    "alpha_pattern",
    "target_modules",
    "auto_mapping",
}
NEUTRAL = {  # what changes nothing for a model that is told which matrices it has
    "peft_version",
    "task_type",
    "base_model_name_or_path",
    "revision",
    "inference_mode",
    "fan_in_fan_out",
    "exclude_modules",
    "layers_to_transform",
    "layers_pattern",
    "megatron_core",
    "qalora_group_size",
    "eva_config",
    "runtime_config",
}
EMPTY: tuple[Any, ...] = (None, False, "none", {}, [])
Updates = dict[str, tuple[Tensor, Tensor]]  # A and B by the name of a map


def to_config(
    names: Mapping[str, str], layers: Mapping[str, LoRALinear], name: str
) -> dict[str, Any]:
    """``adapter_config.json`` of an update, as peft reads it; maps under the names given."""
    settings = {names[n]: layer.settings[name] for n, layer in layers.items()}
    rank, alpha = (
        Counter(getattr(s, field) for s in settings.values()).most_common(1)[0][0]
        for field in ("rank", "alpha")
    )
    first = next(iter(settings.values()))
    return {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": None,
        "inference_mode": True,
        "r": rank,
        "lora_alpha": alpha,
        "lora_dropout": first.dropout,
        "use_rslora": first.rank_stabilized,
        "rank_pattern": {n: s.rank for n, s in settings.items() if s.rank != rank},
        "alpha_pattern": {n: s.alpha for n, s in settings.items() if s.alpha != alpha},
        "target_modules": shortest(list(settings), names.values()),
        "fan_in_fan_out": any(n.startswith("transformer.h.") for n in settings),
        "bias": "none",
        "init_lora_weights": True,
    }


def to_tensors(
    names: Mapping[str, str], layers: Mapping[str, LoRALinear], name: str
) -> dict[str, Tensor]:
    """Matrices of an update under the names of peft."""
    return {
        f"{PREFIX}{names[n]}.lora_{end}.weight": getattr(layer, end)[name]
        for n, layer in layers.items()
        for end in "AB"
    }


def require_options(config: Mapping[str, Any]) -> None:
    """Refuse what is no update of the form W + s B A."""
    if config.get("peft_type") != "LORA":
        raise CheckpointMismatchError(
            f"adapter_config.json has peft_type={config.get('peft_type')!r}; mathlm reads "
            "'LORA' of peft, and what save_adapter wrote"
        )
    unknown = {n: x for n, x in config.items() if n not in READ | NEUTRAL and x not in EMPTY}
    start = unknown.pop("init_lora_weights", True)
    if start not in STARTS:
        raise CheckpointMismatchError(
            f"adapter_config.json has init_lora_weights={start!r}, which changes the base's "
            "weights before training: convert the adapter with peft, by "
            "save_pretrained(..., path_initial_model_for_weight_conversion=...)"
        )
    if unknown.get("megatron_config") is None:
        unknown.pop("megatron_config", None)
    if unknown:
        options = ", ".join(f"{name}={value!r}" for name, value in sorted(unknown.items()))
        raise CheckpointMismatchError(
            f"adapter_config.json has {options}: an update here is W + s B A and nothing more; "
            "merge such an adapter with peft, and load the merged model"
        )


def settings_of(config: Mapping[str, Any], name: str) -> LoRASettings:
    """Choices for the map that a file calls so."""

    def said(pattern: str, default: Any) -> Any:
        values = config.get(pattern) or {}
        if not isinstance(values, Mapping):
            raise CheckpointMismatchError(f"adapter_config.json has {pattern}={values!r}")
        return values.get(of_pattern(values, name), default)

    fields = {
        "rank": said("rank_pattern", config.get("r", 8)),
        "alpha": said("alpha_pattern", config.get("lora_alpha", 8)),
        "dropout": config.get("lora_dropout", 0.0),
        "rank_stabilized": config.get("use_rslora", False),
    }
    try:
        return LoRASettings(**fields)
    except (ConfigError, TypeError) as error:
        raise CheckpointMismatchError(
            f"adapter_config.json has, for {name}, {fields}: {error}"
        ) from error


def from_tensors(model: nn.Module, tensors: Mapping[str, Tensor]) -> tuple[Updates, dict]:
    """Matrices by our name of their map, and the file's name for each map; the rest is refused.

    A copy of a base weight, which peft keeps beside the update of a head, must be the base's.
    """
    ours = {name: name for name in linear_sites(model)}
    ours |= {their: name for name, their in their_names(model).items() if FUSED not in their}
    pairs: dict[str, dict[str, Tensor]] = {}
    names, wrong, sites = {}, [], linear_sites(model)
    for key, tensor in tensors.items():
        found = TENSOR.fullmatch(key)
        plain = key.removeprefix(PREFIX).removesuffix(".base_layer.weight")
        if found and found[1] in ours:
            mine = pairs.setdefault(ours[found[1]], {})
            names[ours[found[1]]] = found[1]
            wrong += [key] if found[2] in mine else []
            mine[found[2]] = tensor
        elif not (plain in ours and same_weight(sites[ours[plain]].module, tensor)):
            wrong.append(key)
    half = [f"{names[n]}.lora_{end}" for n, x in pairs.items() for end in {"A", "B"} - set(x)]
    if wrong or half or not pairs:
        raise CheckpointMismatchError(unfit(model, wrong, half))
    return {n: (x["A"], x["B"]) for n, x in pairs.items()}, names


def same_weight(module: nn.Module, tensor: Tensor) -> bool:
    """Whether a stored weight is that of a map, rounded as it may be."""
    own = getattr(module.base if isinstance(module, LoRALinear) else module, "weight", None)
    if own is None or own.shape != tensor.shape:
        return False
    return bool((own.detach().cpu().to(tensor.dtype) == tensor).all())


def unfit(model: nn.Module, wrong: list[str], half: list[str]) -> str:
    """Why the tensors of a file are no updates of a model's maps."""
    if any(FUSED in key for key in wrong):
        return (
            f"{wrong[0]} updates GPT-2's queries, keys and values as one matrix ({FUSED}), "
            "which are three maps here, W_q, W_k and W_v: merge it with peft, and load the "
            "merged model"
        )
    if any("lora_embedding" in key for key in wrong):
        return f"{wrong[0]} updates an embedding; low-rank updates here are for linear maps"
    parts = [listed("unexpected", wrong)] * bool(wrong) + [listed("missing", half)] * bool(half)
    known = ", ".join([*(their_names(model).values() or linear_sites(model))][:3])
    return (
        f"the adapter does not fit the model: {'; '.join(parts) or 'it holds no matrices'}; "
        f"linear maps of the model are called {known}, ..."
    )


def missing_maps(config: Mapping[str, Any], names: Mapping[str, str], model: nn.Module) -> list:
    """Maps that the configuration names, and the file has nothing for."""
    targets = config.get("target_modules")
    chosen = ("exclude_modules", "layers_to_transform")
    if not isinstance(targets, list) or any(config.get(field) for field in chosen):
        return []
    known = their_names(model) or {name: name for name in linear_sites(model)}
    if not set(names.values()) <= set(known.values()):
        known = {name: name for name in linear_sites(model)}
    return sorted(meant(map(str, targets), known.values()) - set(names.values()))

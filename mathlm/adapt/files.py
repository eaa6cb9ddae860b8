"""An adapter as a folder: its options, its numbers by name, and the hash of its base."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    InputError,
    InputTypeError,
)
from ..layers.low_rank import LoRALinear
from ..models import GPT
from ..models.files.atomic import write_files
from ..models.files.hugging_face import require_finite
from ..models.files.weights import (
    PICKLE_SUFFIXES,
    check_tensors_fit,
    plain,
    read_tensors,
    to_bytes,
)
from .additions import Addition, additions
from .bottleneck import add_adapters
from .lora import adapter_names
from .prefix import add_prefix, add_prompt

SHARD = 1 << 24  # numbers that are hashed together


def base_fingerprint(
    model: nn.Module, *, dtype: torch.dtype | None = None, without: Sequence[str] = ()
) -> str:
    """SHA-256 of the weights below a model's adapters.

    Computes::

        SHA-256 of name, dtype, shape and bytes of every tensor of the base, in order of names

    Adapters change nothing of it, whether they are beside the weights, merged with
    ``keep=True``, in use or not, and neither does a tied head that got a copy of its own. One
    step of training of a base weight changes it.

    Args:
        model: With or without adapters.
        dtype: To which weights are rounded before; None = as they are. bfloat16 makes the
            fingerprint of a base that was read in float32 that of the same base in bfloat16.
        without: Names of tensors that do not count, such as those that are trained too.

    Returns:
        64 hexadecimal digits.

    Example:
        >>> from mathlm.adapt import add_lora
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = GPT(GPTConfig(**sizes))
        >>> before = base_fingerprint(model)
        >>> base_fingerprint(add_lora(model, rank=2)) == before  # the base is the same
        True
    """
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise InputTypeError(f"dtype={dtype!r} is none of torch: give torch.bfloat16, or None")
    if isinstance(without, str):
        raise InputTypeError(f"without={without!r} is one word: give a list, [{without!r}]")
    digest = hashlib.sha256()
    for name, tensor in sorted(base_tensors(model).items()):
        if name in without:
            continue
        if dtype is not None and tensor.is_floating_point():
            tensor = tensor.to(dtype)
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        add_bytes(digest, tensor)
    return digest.hexdigest()


def base_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model without its adapters, under the names that it has without them."""
    added = {name for addition in additions(model) for name in addition.parameters}
    wrappers = [n for n, module in model.named_modules() if isinstance(module, LoRALinear)]
    matrices = tuple(f"{name}.{end}." for name in wrappers for end in "AB")
    bases = {f"{name}.base.": f"{name}." for name in wrappers}
    found = {}
    for name, tensor in model.state_dict().items():
        if name not in added and not name.startswith(matrices):
            wrapped = next((own for own in bases if name.startswith(own)), "")
            found[bases.get(wrapped, "") + name.removeprefix(wrapped)] = tensor
    return found


def trained_tensors(model: nn.Module) -> list[str]:
    """Names of the base's tensors that have gradients, as they are without adapters."""
    places = {p.data_ptr() for p in model.parameters() if p.requires_grad}
    return sorted(n for n, t in base_tensors(model).items() if t.data_ptr() in places)


def add_bytes(digest, tensor: Tensor) -> None:
    """Hash the numbers of a tensor, a part at a time."""
    for part in tensor.detach().contiguous().flatten().split(SHARD):
        digest.update(part.cpu().view(torch.uint8).numpy().data)


CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def write_adapter(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> Path:
    """Write both files, the configuration last: a folder without it holds no adapter.

    Raises:
        CheckpointError: If there is such a file already, or the disk refuses.
    """
    files = {
        WEIGHTS: to_bytes(tensors),
        CONFIG: (json.dumps(config, indent=2, sort_keys=True) + "\n").encode(),
    }
    for name in files:
        if (folder / name).exists():
            raise CheckpointError(f"{folder / name} is there already: give another folder")
    return write_files(folder, files, "the adapter")


def read_adapter(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Configuration and tensors, all finite.

    Raises:
        CheckpointError: If a file is missing.
        CheckpointCorruptError: If a file cannot be read, or a number is NaN or infinite.
        CheckpointMismatchError: If the weights are a pickle.
    """
    config = read_config(folder)
    if not (folder / WEIGHTS).is_file():
        for path in sorted(folder.iterdir()):
            if path.suffix in PICKLE_SUFFIXES:
                raise CheckpointMismatchError(
                    f"{path} is a pickle, which can run any code; mathlm does not unpickle: "
                    f"save the adapter with peft again, which writes {WEIGHTS}"
                )
        raise CheckpointError(f"{folder / WEIGHTS} is missing: the folder has no weights")
    tensors = read_tensors(folder / WEIGHTS)
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise CheckpointMismatchError(
                f"{folder / WEIGHTS}: {name} is {plain(tensor.dtype)}"
            )
    require_finite(tensors, str(folder / WEIGHTS))
    return config, tensors


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of ``adapter_config.json``."""
    path = folder / CONFIG
    if not path.is_file():
        there = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else None
        holds = "is no folder" if there is None else f"holds {', '.join(there) or 'nothing'}"
        hint = (
            "; a whole model is read by GPT.from_pretrained"
            if there and ("config.json" in there)
            else ""
        )
        raise CheckpointError(f"{path} is missing: {folder} {holds}{hint}")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointCorruptError(f"{path} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise CheckpointCorruptError(f"{path} holds no fields, but {type(fields).__name__}")
    return fields


def base_of(model: nn.Module) -> dict[str, Any]:
    """What tells the base that an adapter was made on; as its name, peft keeps it and reads on.

    Weights of the base that are trained too are left out: they are the adapter's as well.
    """
    without = trained_tensors(model)
    return {
        "base_sha256": base_fingerprint(model, without=without),
        "base_sha256_bfloat16": base_fingerprint(model, dtype=torch.bfloat16, without=without),
        "base_dtype": dtype_of(model),
        "base_without": without,
    }


def require_base(model: nn.Module, said: Any, folder: Path) -> None:
    """Refuse a model whose weights are not those that an adapter was made on.

    Weights in another dtype are compared after rounding to bfloat16. What peft made says
    nothing of its base.
    """
    if not isinstance(said, Mapping) or "base_sha256" not in said:
        return
    without, same = said.get("base_without") or [], said.get("base_dtype") == dtype_of(model)
    expected = said["base_sha256" if same else "base_sha256_bfloat16"]
    rounding = None if same else torch.bfloat16
    found = base_fingerprint(model, dtype=rounding, without=without)
    if found != expected:
        rounded = "" if same else " after rounding to bfloat16"
        raise CheckpointMismatchError(
            f"{folder} is an adapter for another base: its weights have the SHA-256 "
            f"{expected}, those of this model {found}{rounded}; load the base that it was "
            "trained on, or say other_base=True if you know that it fits"
        )


def dtype_of(model: nn.Module) -> str:
    """Of the base's weights: that of the first parameter that is no adapter's."""
    floats = (t for t in base_tensors(model).values() if t.is_floating_point())
    return plain(next(floats, torch.empty(0)).dtype)


ADD: dict[str, Callable[..., GPT]] = {
    "adapters": add_adapters,
    "prefix": add_prefix,
    "prompt": add_prompt,
}
OPTIONS = {
    "adapters": {"width", "activation", "places"},
    "prefix": {"length", "gated"},
    "prompt": {"length"},
}


def find_addition(model: nn.Module, name: str) -> Addition:
    """The addition of a kind, or the only one of a model.

    Raises:
        InputError: If there is none, or several.
    """
    found = {addition.kind: addition for addition in additions(model)}
    if name in found:
        return found[name]
    if name == "default" and len(found) == 1:
        return next(iter(found.values()))
    there = ", ".join(map(repr, [*adapter_names(model), *found])) or "none"
    raise InputError(f"the model has no adapter {name!r}; it has {there}")


def add_from_file(model: nn.Module, config: Mapping[str, Any], tensors: Mapping[str, Tensor]):
    """Make an addition of the options of a file, and fill it; all is checked before.

    Raises:
        CheckpointMismatchError: If the model cannot have it, or the numbers do not fit.
        InputError: If the model has one already.
    """
    kind, options = config["kind"], config.get("options")
    if not isinstance(model, GPT):
        raise InputTypeError(
            f"a file of kind {kind!r} is for a GPT, not {type(model).__name__}"
        )
    if kind not in ADD or not isinstance(options, Mapping) or set(options) != OPTIONS[kind]:
        raise CheckpointMismatchError(
            f"adapter_config.json has kind={kind!r} and options={options!r}; known are "
            f"{', '.join(f'{n} with {sorted(x)}' for n, x in OPTIONS.items())}"
        )
    expected = shapes(model, kind, options).items()
    like = {n: torch.empty(s, dtype=torch.float32, device="meta") for n, s in expected}
    widened = {name: tensor.float() for name, tensor in tensors.items()}
    check_tensors_fit(f"the {kind} of the file does not fit the model", widened, like)
    ADD[kind](model, **options, seed=0)
    own = next(a for a in additions(model) if a.kind == kind)
    with torch.no_grad():
        for name, parameter in own.parameters.items():
            parameter.copy_(tensors[name])
    return model


def shapes(model: GPT, kind: str, options: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the numbers that an addition to a model has."""
    config, layers = model.config, range(model.config.n_layers)
    for name in {"width", "length"} & set(options):
        if type(options[name]) is not int or options[name] < 1:
            raise CheckpointMismatchError(
                f"adapter_config.json has {name}={options[name]!r}: not a whole number above 0"
            )
    D, G, K = config.d_model, config.kv_heads, config.head_width
    if kind == "prompt":
        return {"virtual.vectors": (options["length"], D)}
    if kind == "prefix":
        own: dict[str, tuple[int, ...]] = dict.fromkeys("kv", (G, options["length"], K))
        own |= {"gate": (config.n_heads,)} if options["gated"] else {}
        return {f"virtual.layers.{i}.{n}": s for i in layers for n, s in own.items()}
    w, places = options["width"], options["places"]
    if not isinstance(places, list):
        raise CheckpointMismatchError(f"adapter_config.json has places={places!r}, not a list")
    own = {"W_down": (w, D), "b_down": (w,), "W_up": (D, w), "b_up": (D,)}
    ends = [f"{place}_adapter.{n}" for place in places for n in own]
    return {f"blocks.{i}.{end}": own[end.split(".")[1]] for i in layers for end in ends}

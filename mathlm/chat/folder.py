"""A model that answers: its weights, its tokens, and the form of its conversations.

    python -m mathlm.chat.folder runs/mine

Prints what a folder of mathlm sft holds.
"""

import hashlib
import json
import logging
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .. import adapt
from ..errors import (
    CheckpointMismatchError,
    ConfigError,
    DataError,
    DataNotFoundError,
    MathLMError,
)
from ..generate import quantize
from ..models import GPT
from ..models.files.atomic import write_files
from ..text import ByteBPE, Bytes, pretrained
from ..text.tokenizers.named import BPE, Tokenizer, beside_weights, load_tokenizer
from ..train import resolve_device
from ..train.distributed import DeviceName
from .model import ChatModel, find_format, format_from, read_json
from .special_tokens import load_special_tokens

FILE, BYTES = "chat.json", "bytes"
OPTIONAL = {"base_adapter"}
log = logging.getLogger(__name__)
SAID = {"kind", "base", "quantize", "marks", "tokenizer", "turns"}


def load(
    name: str | Path,
    adapter: Path | None = None,
    *,
    tokenizer: str | None = None,
    form: str = "auto",
    device: DeviceName = "auto",
) -> ChatModel:
    """A model by name: 'smollm2', a GGUF file, a folder of Hugging Face or of mathlm sft.

    Args:
        name: Of the model; an adapter's folder stands for its base with the adapter.
        adapter: Folder of an adapter to put on the model.
        tokenizer: As for recipes.generate; None = that of the adapter's folder, else the
            model's own.
        form: chatml, named, a JSON file, or auto: the folder's own, else by the tokenizer.
        device: Where the model is to be.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPTConfig, save_pretrained
        >>> sizes = dict(vocab_size=256, context=64, d_model=16, n_layers=1, n_heads=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_pretrained(GPT(GPTConfig(**sizes)), f"{folder}/mine")
        ...     load(path, tokenizer="bytes", form="named", device="cpu").context
        64
    """
    said = read(Path(name)) or {}
    own = (read(adapter) if adapter is not None else None) or said
    tuned = said.get("kind") == "adapter"
    if tuned and adapter is None:
        require_base(said["base"], name)
        return load(said["base"], Path(name), tokenizer=tokenizer, form=form, device=device)
    place = Path(name) if adapter is None or own is said else adapter
    own_tokens = str(place / BPE) if own.get("tokenizer") == BPE else own.get("tokenizer")
    tokenizer = tokenizer or own_tokens
    if tuned:  # an adapter that was trained on top of another
        require_same_adapter(own, name, adapter)
        whole = load_whole(name, tokenizer=tokenizer)
        model, tokens = whole.model.to(resolve_device(device)), whole.tokenizer
    else:
        model, tokens = load_pretrained(str(name), tokenizer, device)
    turns = own.get("turns")
    chosen = format_from(turns, FILE) if turns and form == "auto" else find_format(form, tokens)
    tokens = Bytes(chosen.special) if isinstance(tokens, Bytes) else tokens
    model = model if own.get("quantize") is None else quantize(model, own["quantize"])
    if adapter is not None:
        adapt.load_adapter(model, adapter, other_base=tuned)
        if own.get("marks"):
            load_special_tokens(model, adapter)
    return ChatModel(model=model.eval(), tokenizer=tokens, format=chosen)


def load_whole(
    name: str | Path, *, tokenizer: str | None = None, form: str = "auto"
) -> ChatModel:
    """As :func:`load` on the CPU, with the update of an adapter's folder made part of the maps.

    So a run that begins with an adapter has a model of one piece, and what it compares itself
    with is that model.

    Raises:
        ConfigError: If the folder holds what cannot become part of them: a prefix, a prompt,
            bottleneck adapters, or an update of quantized weights.
    """
    chat_model = load(name, tokenizer=tokenizer, form=form, device="cpu")
    if (said := read(Path(name)) or {}).get("kind") != "adapter":
        return chat_model
    if said["quantize"] is not None or not adapt.adapter_names(chat_model.model):
        raise ConfigError(
            f"{name} holds an adapter that cannot become part of the weights: only LoRA on "
            "weights that are not quantized can, so tune with --method lora and without "
            "--quantize where another run is to follow"
        )
    adapt.merge_lora(chat_model.model, keep=False)
    chat_model.model.requires_grad_(True)
    log.info("%s is an adapter: its update is made part of the weights of its base", name)
    return chat_model


def adapter_sha256(name: str | Path) -> str | None:
    """SHA-256 of the weights of an adapter's folder; None for another model."""
    place = Path(name) / "adapter_model.safetensors"
    if (read(Path(name)) or {}).get("kind") != "adapter":
        return None
    return hashlib.sha256(place.read_bytes()).hexdigest()


def require_same_adapter(own: dict[str, Any], name: str | Path, adapter: Path | None) -> None:
    """Refuse an adapter that was not trained on top of this one, as it is now."""
    if own.get("base_adapter") is None:
        raise ConfigError(
            f"--model {name} is an adapter itself, and {adapter} was not trained on top of it: "
            "give its base, or this alone"
        )
    if own["base_adapter"] != adapter_sha256(name):
        raise CheckpointMismatchError(
            f"{adapter} was trained on top of {name}, which has changed since: tune again, or "
            "merge an adapter before another run takes its folder"
        )


def load_pretrained(
    name: str, tokenizer: str | None = None, device: DeviceName = "auto"
) -> tuple[GPT, Tokenizer]:
    """A pretrained model and its tokenizer, without a chat template.

    Args:
        name: 'smollm2', a GGUF file, or a folder of Hugging Face.
        tokenizer: 'bytes', a file of ByteBPE.save or a folder; None = the model's own, such as
            ``mathlm export`` writes beside the weights.
        device: Where the model is to be: cpu, cuda or auto.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPTConfig, save_pretrained
        >>> sizes = dict(vocab_size=256, context=64, d_model=16, n_layers=1, n_heads=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_pretrained(GPT(GPTConfig(**sizes)), f"{folder}/mine")
        ...     model, tokenizer = load_pretrained(str(path), device="cpu")
        >>> model.config.vocab_size, tokenizer.encode("Hi")
        (256, [72, 105])
    """
    path = pretrained.find("smollm2") if name == "smollm2" else Path(name)
    model = GPT.from_pretrained(path).to(resolve_device(device))
    if tokenizer is not None:
        return model, load_tokenizer(tokenizer)
    if path.is_file():
        return model, ByteBPE.from_gguf(path)
    if (own := beside_weights(path)) is not None:
        return model, own
    if model.config.vocab_size == Bytes.vocab_size:
        return model, Bytes()
    raise ConfigError(
        f"{path} holds no tokenizer and has {model.config.vocab_size} tokens: name one with "
        "--tokenizer"
    )


def require_base(base: str, name: str | Path) -> None:
    """Refuse an adapter whose base is no longer where it was."""
    if base != "smollm2" and not Path(base).exists():
        raise DataNotFoundError(
            f"{name} is an adapter of {base}, which is not there: give both, --model and "
            f"--adapter {name}"
        )


def write(folder: Path, chat_model: ChatModel, **said: Any) -> None:
    """Write beside weights what a conversation needs.

    ``said``: kind, base, quantize and marks, and ``base_adapter``, the hash of a base that is
    an adapter.
    """
    bpe = chat_model.tokenizer if isinstance(chat_model.tokenizer, ByteBPE) else None
    if bpe is not None:
        bpe.save(folder / BPE)
    said |= {"tokenizer": BYTES if bpe is None else BPE, "turns": asdict(chat_model.format)}
    content = (json.dumps(said, indent=1) + "\n").encode()
    write_files(folder, {FILE: content}, "the turns of a conversation")


def read(folder: Path) -> dict[str, Any] | None:
    """What :func:`write` wrote; None where there is no such file."""
    if not (folder / FILE).is_file():
        return None
    said = read_json(folder / FILE)
    if not isinstance(said, dict) or set(said) - OPTIONAL != SAID:
        raise DataError(f"{folder / FILE} is not of this version: expected {sorted(SAID)}")
    return said


if __name__ == "__main__":
    try:
        print(json.dumps(read(Path(sys.argv[1])), indent=1))
    except MathLMError as error:
        sys.exit(f"error: {error}")

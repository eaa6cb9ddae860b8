"""Our GPT as a GGUF file, which llama.cpp and :meth:`GPT.from_pretrained` read."""

import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import CheckpointError, ConfigError, DataNotFoundError
from ...functional import half_split_order
from ...text import ByteBPE, open_gguf
from ...text.gguf_file import INSTALL_GGUF
from ...text.tokenizers.files import CONTROL, GGUF_PATTERNS, NORMAL, to_printable
from ..gpt import GPT
from ..gpt_config import GPTConfig
from .gguf import FIELDS, TURNED, their_name
from .saving import kind_of, require_alone, require_numbers, stored_once
from .weights import plain

FORMATS = (torch.float32, torch.float16)
CHOICES = {"activation": "swiglu", "bias": False, "rope_scaling": None, "window": None}


def save_gguf(
    model: GPT,
    path: str | os.PathLike[str],
    *,
    tokenizer: str | os.PathLike[str] | ByteBPE | None = None,
    dtype: torch.dtype = torch.float32,
) -> Path:
    """Write a Llama as one GGUF file.

    Matrices have the dtype, gains of the norms 32 bits, as llama.cpp wants them. The features
    of queries and keys are put next to the ones that they are turned with: the inverse of
    :func:`mathlm.functional.half_split_order`.

    Args:
        model: With RMS norms, SwiGLU, rotary positions without scaling, and no biases.
        path: Of the file, which must not be there.
        tokenizer: A GGUF file whose tokenizer is copied, such as the one that a tuned model
            came from, or a :class:`ByteBPE` of pattern gpt2 or smollm2, the two that llama.cpp
            has a name for; None = the file has none and is run on ids.
        dtype: float32 or float16.

    Returns:
        The path.

    Raises:
        ConfigError: If the model has other choices, is quantized or has adapters or experts,
            the dtype is another, or the tokenizer has another number of tokens, another
            pattern or no merge.
        InputError: If a weight is NaN or infinite in the dtype.
        CheckpointError: If the file is there already.
        DataError, DataNotFoundError: If the tokenizer is no GGUF file, or the gguf package is
            not installed.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPT, GPTConfig
        >>> llama = dict(norm="rms", activation="swiglu", position="rope", bias=False)
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=1, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes, **llama)), torch.tensor([[72, 105]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = GPT.from_pretrained(save_gguf(model, f"{folder}/mine.gguf"))
        >>> torch.allclose(again(ids), model(ids), atol=1e-5)
        True
    """
    path, config = Path(path), model.config
    require_alone(model, "a GGUF file")
    require_llama(config)
    if dtype not in FORMATS:
        raise ConfigError(f"dtype={dtype} is not one of {', '.join(map(plain, FORMATS))}")
    if path.exists():
        raise CheckpointError(f"{path} is there already: give another file")
    if isinstance(tokenizer, ByteBPE):
        words = bpe_fields(tokenizer, config.vocab_size)
    else:
        words = {} if tokenizer is None else tokenizer_fields(tokenizer, config.vocab_size)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")  # a file that is there is whole
    writer = new_writer(partial)
    try:
        add_config(writer, config)
        for name, (value, kinds) in words.items():
            writer.add_key_value(name, value, kinds[0], *kinds[1:])
        if not words:
            writer.add_tokenizer_model("none")
        for name, tensor in stored_once(model, model.state_dict()).items():
            their = their_name(name)
            weight = adjacent(tensor, config.head_width) if TURNED.fullmatch(their) else tensor
            kept = dtype if weight.ndim == 2 else torch.float32
            weight = weight.detach().to("cpu", kept).contiguous()
            require_numbers({their: weight})
            writer.add_tensor(their, weight.numpy())
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        partial.replace(path)
    finally:
        writer.close()
        partial.unlink(missing_ok=True)
    return path


def require_llama(config: GPTConfig) -> None:
    """Refuse what a GGUF file of the Llama architecture cannot say."""
    kind = kind_of(config)
    found = {name: getattr(config, name) for name in CHOICES}
    if kind not in {"llama", "mistral"} or found != CHOICES:
        said = {"norm": config.norm, "position": config.position, "qk_norm": config.qk_norm}
        raise ConfigError(
            f"a GGUF file of a Llama has {CHOICES}, RMS norms and rotary positions without "
            f"normalized queries; this model has {said | found}: save_pretrained writes it"
        )


def new_writer(path: Path) -> Any:
    """A writer of the gguf package."""
    return gguf_package().GGUFWriter(path, "llama")


def gguf_package() -> Any:
    """The package, which is loaded where a file is written."""
    try:
        import gguf
    except ImportError as error:
        raise DataNotFoundError(
            f"writing GGUF needs the gguf package: {INSTALL_GGUF}"
        ) from error
    return gguf


def add_config(writer: Any, config: GPTConfig) -> None:
    """The sizes of a configuration, under the names that :func:`read_gguf` reads."""
    filled = {"n_kv_heads": config.kv_heads, "d_head": config.head_width}
    filled["d_ff"] = config.ff_width
    sizes = {their: filled.get(our, getattr(config, our)) for our, their in FIELDS.items()}
    sizes |= {"vocab_size": config.vocab_size, "attention.value_length": config.head_width}
    sizes["rope.dimension_count"] = config.head_width
    real = FIELDS["norm_eps"], FIELDS["rope_base"]  # also where they are whole numbers
    for name, value in sizes.items():
        if name in real:
            writer.add_float32(f"llama.{name}", float(value))
        else:
            writer.add_uint32(f"llama.{name}", value)


def tokenizer_fields(
    path: str | os.PathLike[str], vocab_size: int
) -> dict[str, tuple[Any, list[Any]]]:
    """Values and kinds of the fields that describe a file's tokenizer."""
    fields = open_gguf(path).fields
    found = {
        name: (field.contents(), field.types[:2])
        for name, field in fields.items()
        if name.startswith("tokenizer.")
    }
    tokens, _ = found.get("tokenizer.ggml.tokens", ([], []))
    if len(tokens) != vocab_size:
        raise ConfigError(
            f"{path} has a tokenizer of {len(tokens)} tokens, and the model one of {vocab_size}"
        )
    return found


def bpe_fields(bpe: ByteBPE, vocab_size: int) -> dict[str, tuple[Any, list[Any]]]:
    """Values and kinds of the fields that describe a tokenizer of our own."""
    names = {pattern: theirs for theirs, pattern in GGUF_PATTERNS.items()}
    if bpe.pattern not in names:
        raise ConfigError(
            f"the tokenizer cuts words by {bpe.pattern!r}, for which llama.cpp has no name; it "
            f"has one for {sorted(names)}: export a folder, which holds any tokenizer, or "
            "train the tokenizer with ByteBPE.train(pattern='gpt2') before pretraining"
        )
    if not bpe.merges:
        raise ConfigError("the tokenizer has no merge, and a GGUF file holds no empty list")
    if len(bpe) != vocab_size:
        raise ConfigError(
            f"the tokenizer has {len(bpe)} tokens, and the model has {vocab_size}"
        )
    printed = [to_printable(bpe.token_bytes(i)) for i in range(len(bpe))]
    special = {token: name for name, token in bpe.special.items()}
    kinds = gguf_package().GGUFValueType
    text, integer, several = kinds.STRING, kinds.INT32, kinds.ARRAY
    fields: dict[str, tuple[Any, list[Any]]] = {
        "model": ("gpt2", [text]),
        "pre": (names[bpe.pattern], [text]),
        "tokens": ([special.get(i, x) for i, x in enumerate(printed)], [several, text]),
        "token_type": (
            [CONTROL if i in special else NORMAL for i in range(len(bpe))],
            [several, integer],
        ),
        "merges": ([f"{printed[i]} {printed[j]}" for i, j in bpe.merges], [several, text]),
    }
    return {f"tokenizer.ggml.{name}": value for name, value in fields.items()}


def adjacent(weight: Tensor, d_head: int) -> Tensor:
    """The rows of each head, in the order of adjacent pairs instead of half-split ones."""
    order = half_split_order(d_head).argsort()
    return weight.unflatten(0, (-1, d_head))[:, order].flatten(0, 1)

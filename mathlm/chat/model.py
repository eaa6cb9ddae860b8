"""How conversations are written: by a name, by a JSON file, or by what a tokenizer can write.

    python -m mathlm.chat.model chatml

Prints a format as the JSON data that --template reads, to be changed.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import ConfigError, DataError, MathLMError
from ..models import GPT
from ..text import Bytes, ChatFormat
from ..text.tokenizers.named import Tokenizer

FORMATS = {"chatml": ChatFormat.chatml, "named": ChatFormat.named}


@dataclass(frozen=True, kw_only=True)
class ChatModel:
    """What a conversation needs: a model, its tokens, and how the turns are written.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> from mathlm.text import Bytes
        >>> sizes = dict(vocab_size=256, context=128, d_model=16, n_layers=1, n_heads=2)
        >>> form = ChatFormat.named()
        >>> gpt, tokenizer = GPT(GPTConfig(**sizes)), Bytes(form.special)
        >>> ChatModel(model=gpt, tokenizer=tokenizer, format=form).context
        128
    """

    model: GPT
    tokenizer: Tokenizer
    format: ChatFormat

    @property
    def context(self) -> int:
        """Tokens of a text that the model can read."""
        virtual = self.model.virtual
        return self.model.config.context - (0 if virtual is None else virtual.shift)


def find_format(form: str, tokenizer: Tokenizer) -> ChatFormat:
    """The format of a name or of a JSON file; "auto" takes the first the tokenizer can write.

    Raises:
        ConfigError: If there is none.
        DataError: If the file is no JSON.
    """
    if form in FORMATS:
        return FORMATS[form]()
    if form != "auto":
        if not Path(form).is_file():
            raise ConfigError(
                f"no format is called {form!r}, and there is no such file; there are auto, "
                f"{', '.join(FORMATS)}, and JSON files with markers, headers and end"
            )
        return format_from(read_json(Path(form)), form)
    if isinstance(tokenizer, Bytes):
        return ChatFormat.named()
    for make in FORMATS.values():
        if set(make().special) <= set(tokenizer.special):
            return make()
    needs = "; ".join(f"{name} needs {make().special}" for name, make in FORMATS.items())
    raise ConfigError(
        f"the tokenizer has the special tokens {list(tokenizer.special)}, too few for a known "
        f"format ({needs}). Two are enough for a format of your own: a JSON file with markers, "
        "headers and end, as `python -m mathlm.chat.model chatml` prints them, is read by "
        "--template FILE.json, by chat with --format FILE.json. A tokenizer gets its marks "
        "before pretraining: ByteBPE.train(special=[...])"
    )


def format_from(data: Any, where: str) -> ChatFormat:
    """A format from JSON data: the arguments of ChatFormat."""
    known = [field.name for field in fields(ChatFormat)]
    if not isinstance(data, Mapping) or not {"markers", "headers", "end"} <= set(data) <= set(
        known
    ):
        found = list(data) if isinstance(data, Mapping) else type(data).__name__
        raise ConfigError(
            f"{where} has {found}; expected markers, headers, end, and of {known}"
        )
    return ChatFormat(**data)


def read_json(path: Path) -> Any:
    """The content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}") from error


if __name__ == "__main__":
    try:
        print(json.dumps(asdict(find_format(sys.argv[1], Bytes())), indent=1))
    except MathLMError as error:
        sys.exit(f"error: {error}")

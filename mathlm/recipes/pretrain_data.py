"""Where recipes.sft_data still looks for names of ``mathlm.text`` and ``mathlm.train``."""

from ..text import encode_corpus as encoded
from ..train import TokenizedWindows

__all__ = ["TokenizedWindows", "encoded"]

"""The mathematics of language models, in NumPy and PyTorch.

Subpackages load on first use, so ``import mathlm`` is instant and the NumPy half never
imports torch. They are listed here in dependency order: each may import only those before it.
"""

from importlib import import_module

__version__ = "0.2.0.dev0"
__all__ = [  # dependency order
    "shapes",
    "errors",
    "checks",
    "progress",
    "claims",
    "show",
    "reference",
    "text",
    "functional",
    "layers",
    "models",
    "optim",
    "train",
    "generate",
    "adapt",
    "align",
    "interpret",
    "scaling",
    "chat",
    "evaluation",
    "plot",
    "recipes",
]


def __getattr__(name: str):
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

"""Links from the API pages to the source: file and line in the repository.

``sphinx.ext.linkcode`` asks for the address of each documented object; the repository and its
branch are those of ``_config.yml``, which Jupyter Book hands to the theme. While the repository
has no address there is no link.
"""

import ast
import inspect
import sys
from functools import cache
from pathlib import Path
from typing import Any

from addresses import is_placeholder
from sphinx.application import Sphinx
from sphinx.config import Config

SCOPES = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def walk(node: ast.AST, prefix: str) -> dict[str, int]:
    """Line of each class and function inside a node, by its qualified name."""
    found = {}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SCOPES):
            name = prefix + child.name
            found |= {name: child.lineno} | walk(child, f"{name}.")
    return found


@cache
def lines(file: str) -> dict[str, int]:
    """Line of each class, method and function of a file."""
    return walk(ast.parse(Path(file).read_text(encoding="utf-8")), "")


def documented(module: str, fullname: str) -> Any:
    """The object behind a documented name; None for one that has no value, such as a field."""
    found = sys.modules.get(module)
    for name in fullname.split("."):
        found = inspect.getattr_static(found, name, None)
        found = getattr(found, "__func__", None) or getattr(found, "fget", None) or found
    return inspect.unwrap(found) if callable(found) else None


def place(module: str, fullname: str) -> str | None:
    """Path and line in the repository, such as ``mathlm/errors.py#L10``."""
    found = documented(module, fullname)
    home = sys.modules.get(getattr(found, "__module__", None) or "")
    file = getattr(home, "__file__", None)
    line = lines(file).get(found.__qualname__) if file else None
    if home is None or file is None or line is None:
        return None
    root = Path(file).parents[home.__name__.count(".") + (Path(file).stem == "__init__")]
    return f"{Path(file).relative_to(root).as_posix()}#L{line}"


def add_resolver(app: Sphinx, config: Config) -> None:
    """Tell linkcode how an object is found."""
    theme = config.html_theme_options
    address = f"{theme['repository_url']}/blob/{theme['repository_branch']}"

    def resolve(domain: str, info: dict[str, str]) -> str | None:
        known = domain == "py" and not is_placeholder(theme["repository_url"])
        found = place(info["module"], info["fullname"]) if known else None
        return found and f"{address}/{found}"

    config.linkcode_resolve = resolve


def setup(app: Sphinx) -> dict[str, bool]:
    """Set the function before linkcode asks for it."""
    app.setup_extension("sphinx.ext.linkcode")
    app.connect("config-inited", add_resolver)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

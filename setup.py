"""The README as the package index shows it: its links lead to the repository.

All else is in pyproject.toml. There a link such as ``book/index.md`` would lead nowhere.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).resolve().parent
FILE = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


def readme() -> str:
    """Its text with the address of the repository before each path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return FILE.sub(rf"]({project['urls']['Repository']}/blob/HEAD/\1)", text)


setup(long_description=readme(), long_description_content_type="text/markdown")

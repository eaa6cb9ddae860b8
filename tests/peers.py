"""Plugin: a test that compares with a library which is not installed is skipped.

For environments with what the package needs and no more: ``PYTHONPATH=tests pytest -p peers``.
"""

import sys

import pytest

PEERS = {"datasets", "gensim", "peft", "tiktoken", "transformers", "trl"}


class Absent:
    """The last place where an import looks, so whatever is installed was found before."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """Skip the test, or the file, that imports one of the peers."""
        if name.partition(".")[0] in PEERS:
            pytest.skip(f"{name} is not installed", allow_module_level=True)


sys.meta_path.append(Absent)

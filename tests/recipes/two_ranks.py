"""A recipe in two ranks that are forked from one process, which has loaded torch once.

Its ranks find what ``torchrun`` would have told them; ``test_pretrain`` starts a recipe by
``torchrun`` itself. Run as ``python -m recipes.two_ranks FOLDER RECIPE WORDS``.
"""

import importlib
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import torch
from train.forked import TESTS, group


def run_in_two_ranks(folder, recipe, words):
    """Run ``recipe.main(words)`` in two ranks, which must end well; the folder gets logs."""
    paths = os.pathsep.join(map(str, (TESTS, TESTS.parent, TESTS.parent / "book")))
    done = subprocess.run(
        [sys.executable, "-m", "recipes.two_ranks", str(folder), recipe.__name__, *words],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def main(folder, name, *words):
    torch.set_num_threads(1)
    recipe = importlib.import_module(name)

    def work():
        recipe.main(words)  # joins the group itself

    found = group(2, Path(folder), work, nullcontext())
    sys.exit("\n".join(found["errors"]) if set(found["codes"]) != {0} else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

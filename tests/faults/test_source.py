"""No line of the package or the book can run code that came with data."""

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORBIDDEN_CALLS = {"eval", "exec", "pickle.load", "pickle.loads", "pickle.Unpickler"}
FORBIDDEN_OPTIONS = {"allow_pickle": True, "trust_remote_code": True, "weights_only": False}


def sources():
    """Python text of each module and of each notebook."""
    for path in sorted((ROOT / "mathlm").rglob("*.py")):
        yield path, path.read_text()
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        yield path, re.sub(r"^( *)[%!].*$", r"\1pass", "\n".join(code), flags=re.MULTILINE)


def offences(text):
    """Calls in ``text`` that unpickle, evaluate text or trust remote code."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name in FORBIDDEN_CALLS:
                yield name
            if name == "torch.load":
                yield name
            for option in node.keywords:
                value = getattr(option.value, "value", None)
                if option.arg in FORBIDDEN_OPTIONS and value is FORBIDDEN_OPTIONS[option.arg]:
                    yield f"{option.arg}={value}"
        if isinstance(node, ast.Import) and any(a.name == "pickle" for a in node.names):
            yield "import pickle"
        if isinstance(node, ast.ImportFrom) and node.module == "pickle":
            yield "from pickle"


def test_nothing_is_unpickled_or_evaluated():
    found = {str(path): list(offences(text)) for path, text in sources()}
    assert len(found) > 20
    assert not {path: names for path, names in found.items() if names}


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from pickle import load",
        "pickle.load(f)",
        "np.load(f, allow_pickle=True)",
        "eval(x)",
        "torch.load(f, weights_only=False)",
        "AutoModel.from_pretrained(x, trust_remote_code=True)",
    ],
)
def test_the_search_finds_what_it_searches_for(text):
    assert list(offences(text))


def test_the_search_lets_evaluation_mode_pass():
    assert list(offences("model.eval()\nnp.load(f, allow_pickle=False)")) == []

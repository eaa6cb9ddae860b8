"""No line of the package or the book can run code that came with data."""

import ast
import json
import re

import pytest
from sources import FILES, ROOT, expect_nothing, nodes

FORBIDDEN_CALLS = {"eval", "exec", "pickle.load", "pickle.loads", "pickle.Unpickler"}
FORBIDDEN_OPTIONS = {"allow_pickle": True, "trust_remote_code": True, "weights_only": False}


def nodes_of(text):
    return list(ast.walk(ast.parse(text)))


def sources():
    """The syntax of each module and of each notebook."""
    for path in FILES:
        yield path, nodes(path)
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        python = re.sub(
            r"^( *)[%!](?:.*\\\n)*.*$", r"\1pass", "\n".join(code), flags=re.MULTILINE
        )
        yield path, nodes_of(python)


def offences(found):
    """Calls among syntax nodes that unpickle, evaluate text or trust remote code."""
    for node in found:
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in FORBIDDEN_CALLS or name == "torch.load":
                yield name
            for option in node.keywords:
                value = getattr(option.value, "value", None)
                if option.arg in FORBIDDEN_OPTIONS and value is FORBIDDEN_OPTIONS[option.arg]:
                    yield f"{option.arg}={value}"
        if isinstance(node, ast.Import) and any(a.name == "pickle" for a in node.names):
            yield "import pickle"
        if isinstance(node, ast.ImportFrom) and node.module == "pickle":
            yield "from pickle"


def dotted(func):
    """What is called, as "name" or "module.name"; nothing if it is longer than that."""
    parts = (getattr(func, "value", None), func)
    names = [getattr(part, "id", getattr(part, "attr", None)) for part in parts if part]
    return ".".join(map(str, names))


@pytest.mark.slow
def test_nothing_is_unpickled_or_evaluated():
    found = {path.name: list(offences(syntax)) for path, syntax in sources()}
    assert len(found) > 20
    expect_nothing(f"{name}: {calls}" for name, calls in found.items() if calls)


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
    assert list(offences(nodes_of(text)))


def test_the_search_lets_evaluation_mode_pass():
    found = nodes_of("model.eval()\nnp.load(f, allow_pickle=False)")
    assert list(offences(found)) == []

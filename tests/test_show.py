"""The code that a page shows: the lines that the tests hold, and where they stand."""

import functools
import inspect
import re
import subprocess
import sys

import numpy as np
import pytest

import mathlm
from lab.attention.soft_lookup import draw
from mathlm import functional, reference
from mathlm.errors import InputTypeError
from mathlm.models import GPTConfig
from mathlm.show import Shown, address

HOME = "mathlm/reference/network/normalization.py"
TEST = "tests/reference/network/test_normalization.py"


def doubled(x: float) -> float:
    """Docstring.

    More of it.
    """

    # a comment between is kept
    def inner():
        "Gone too."
        return 2 * x

    return inner()


class Kept:
    """A class."""

    size = 3

    @property
    def half(self):
        """A half."""
        return self.size / 2

    @classmethod
    def made(cls):
        """One."""
        return cls()

    def empty(self):
        """Nothing else."""


def test_the_source_is_shown_as_it_is_written_without_its_docstrings():
    assert repr(mathlm.show(doubled)).split("\n") == [
        "def doubled(x: float) -> float:",
        "    # a comment between is kept",
        "    def inner():",
        "        return 2 * x",
        "",
        "    return inner()",
    ]


def test_a_body_that_is_a_docstring_keeps_it():
    text = mathlm.show(Kept).source
    assert '"""A class."""' not in text
    assert text.endswith('def empty(self):\n        """Nothing else."""')


def test_methods_and_properties_are_shown_without_their_indent():
    assert mathlm.show(Kept.made).source == "@classmethod\ndef made(cls):\n    return cls()"
    assert mathlm.show(Kept.half).source.startswith("@property\ndef half(self):\n    return")


def test_what_wraps_a_function_is_not_shown():
    wrapped = functools.lru_cache(functools.partial(doubled, 3).func)
    assert mathlm.show(wrapped).source == mathlm.show(doubled).source


def test_the_last_line_names_file_equation_and_test():
    last = repr(mathlm.show(reference.layer_norm)).split("\n")[-1]
    assert last == f"# {HOME} · eq-layer-norm · {TEST}"


def test_the_lines_are_those_that_run():
    """What is shown, run in the module's own names, computes what the module computes."""
    module = inspect.getmodule(inspect.unwrap(reference.layer_norm))
    names = dict(vars(module))
    exec(mathlm.show(reference.layer_norm).source, names)
    x, one = np.arange(6.0).reshape(2, 3) ** 2, np.ones(3)
    shown, _ = names["layer_norm"](x, one, one)
    assert np.array_equal(shown, reference.layer_norm(x, one, one)[0])


def test_two_functions_of_one_file_share_their_line():
    shown = mathlm.show(reference.layer_norm, reference.layer_norm_backward)
    assert shown.places == (HOME, "eq-layer-norm", "eq-layer-norm-backward", TEST)
    assert "\n\n\ndef layer_norm_backward(" in shown.source


@pytest.mark.parametrize(
    ("thing", "start", "place"),
    [
        (functional.cross_entropy, "def cross_entropy(", "mathlm/functional/"),
        (GPTConfig, "@dataclass(", "mathlm/models/"),
        (GPTConfig.__post_init__, "def __post_init__(", "mathlm/models/"),
        (draw, "def draw(", "book/lab/attention/soft_lookup.py"),
    ],
)
def test_things_of_every_part_are_shown_with_their_place(thing, start, place):
    shown = mathlm.show(thing)
    assert shown.source.startswith(start)
    assert shown.places[0].startswith(place)


@pytest.mark.parametrize("thing", [len, 3, np.exp])
def test_what_has_no_python_source_is_refused(thing):
    with pytest.raises(InputTypeError, match="has no Python source to show: name a function"):
        mathlm.show(thing)


class Queries:
    """A class with a method called ``func``."""

    def func(self):
        """Gone."""
        return 2

    def text(self):
        """Gone.

        More.
        """
        # kept
        return """
select *
"""


LISTED = [
    lambda x: x + 1,
    lambda x: [x,
               2]]  # fmt: skip


def test_a_string_at_the_margin_keeps_the_indent_and_no_docstring():
    lines = ["    def text(self):", "        # kept", '        return """', "select *", '"""']
    assert mathlm.show(Queries.text).source.split("\n") == lines


def test_a_class_is_shown_whole_whatever_its_methods_are_called():
    source = mathlm.show(Queries).source
    assert source.startswith("class Queries:")
    assert "return 2" in source
    assert "select *" in source


def test_a_piece_of_a_statement_is_refused():
    with pytest.raises(InputTypeError, match="has no Python source to show"):
        mathlm.show(LISTED[1])


def test_nothing_is_refused():
    with pytest.raises(InputTypeError, match="got nothing"):
        mathlm.show()


def test_places_are_links_into_the_repository(monkeypatch):
    monkeypatch.delenv("MATHLM_STRICT", raising=False)  # the book's own build shows no HTML
    monkeypatch.setattr(
        mathlm.show,
        "metadata",
        lambda name: SimpleMetadata("Home, https://y.org", "Repository, https://x.org/b"),
    )
    html = mathlm.show(reference.layer_norm)._repr_html_()
    assert f'<a href="https://x.org/b/blob/HEAD/{HOME}"><code>{HOME}</code></a>' in html
    assert "<code>eq-layer-norm</code>" in html
    assert 'href="https://x.org/b/blob/HEAD/eq' not in html
    monkeypatch.setattr(mathlm.show, "metadata", lambda name: SimpleMetadata())
    assert address(HOME) is None


class SimpleMetadata:
    """What is known of an installed package."""

    def __init__(self, *urls):
        self.urls = list(urls)

    def get_all(self, name):
        return self.urls or None


def text_of(html):
    return re.sub(r"<[^>]+>", "", html.partition("</style>")[2])


def test_the_page_shows_the_same_lines_in_color_and_without(monkeypatch):
    monkeypatch.delenv("MATHLM_STRICT", raising=False)
    shown = Shown("def f(a):\n    return a < 1  # & so on")
    assert "</style>" in (colored := shown._repr_html_())
    assert '<span class="k">return</span>' in colored
    monkeypatch.setitem(sys.modules, "pygments", None)
    plain = shown._repr_html_()
    assert text_of(plain).split() == text_of(colored).split()
    assert "a &lt; 1" in plain


def test_the_build_of_the_book_stores_plain_text_only(monkeypatch):
    monkeypatch.setenv("MATHLM_STRICT", "1")
    assert mathlm.show(doubled)._repr_html_() is None


def test_the_function_is_there_whichever_is_imported_first_and_loads_no_numpy():
    for first in ("import mathlm", "import mathlm.show", "from mathlm import show"):
        code = (
            f"{first}; import sys, mathlm; print(callable(mathlm.show), 'numpy' in sys.modules)"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert said.stdout.split() == ["True", "False"], said.stderr


def test_showing_does_not_soften_the_assertions_of_a_notebook():
    code = "import mathlm, sys, json; mathlm.show(json.dumps)"
    check = f"{code}; print('mathlm.claims' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", check], text=True) == "False\n"

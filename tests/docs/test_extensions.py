"""What the small Sphinx extensions of the book do to names, docstrings, links and figures."""

import importlib
import re
import struct
import sys
from html import unescape
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "book" / "_ext"


def load(name: str) -> ModuleType:
    pytest.importorskip("sphinx", reason="the pages are not built here")
    if str(FOLDER) not in sys.path:  # extensions import each other
        sys.path.append(str(FOLDER))
    spec = spec_from_file_location(name, FOLDER / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def processed(*lines: str) -> list[str]:
    found = list(lines)
    load("docstrings").process(None, "function", "f", None, None, found)
    return found


@pytest.mark.parametrize(
    ("page", "number"),
    [("book/01-linear-algebra", 1), ("10-attention", 10), ("book/index", None)],
)
def test_a_chapter_has_the_number_of_its_file(page, number):
    assert load("chapter_numbers").chapter(page) == number


def numbered(numbers: dict[str, dict[str, tuple[int, ...] | None]]) -> SimpleNamespace:
    """What Sphinx keeps of these section numbers, by page and anchor."""
    nodes = pytest.importorskip("docutils.nodes")

    def entry(number):
        return nodes.reference(secnumber=list(number)) if number else nodes.reference()

    return SimpleNamespace(
        toc_secnumbers=numbers,
        titles={name: entry(rows.get("")) for name, rows in numbers.items()},
        tocs={
            name: nodes.bullet_list("", *map(entry, rows.values()))
            for name, rows in numbers.items()
        },
    )


def test_pages_of_one_chapter_have_letters_and_their_sections_two_parts():
    env = numbered(
        {
            "book/21-small": {"": (4, 3), "#r": (4, 3, 1)},
            "book/21-fine": {"": (4,), "#a": (4, 1), "#b": (4, 2), "#deep": (4, 1, 1)},
            "book/22-one": {"": (5,), "#a": (5, 1), "#none": None},
            "api/index": {"": (6,)},
        }
    )
    load("chapter_numbers").renumber_pages(env)
    assert env.toc_secnumbers == {
        "book/21-small": {"": ("21b",), "#r": ("21b", 1)},
        "book/21-fine": {"": ("21a",), "#a": ("21a", 1), "#b": ("21a", 2), "#deep": None},
        "book/22-one": {"": (22,), "#a": (22, 1), "#none": None},
        "api/index": {"": (6,)},
    }
    shown = [node.get("secnumber") for node in env.tocs["book/21-fine"].children]
    assert shown == [["21a"], ["21a", 1], ["21a", 2], None]
    assert env.titles["book/21-small"]["secnumber"] == ["21b"]


def test_pages_are_written_again_that_are_counted_or_numbered_otherwise():
    numbers, counted = load("chapter_numbers"), {"21-a": (4,), "21-b": (5,), "22-c": (6,)}
    env = SimpleNamespace(toc_secnumbers={})

    def update(counted):
        """What Sphinx does: compares what it counts with what it finds, and numbers anew."""
        numbers.show_counted(None, env)
        found, now = env.toc_secnumbers, {name: {"": n} for name, n in counted.items()}
        theirs = {name for name in now if now[name] != found.get(name)}
        vars(env).update(vars(numbered(now)))
        return sorted(theirs | {*numbers.renumbered(env)})

    assert update(counted) == ["21-a", "21-b", "22-c"]
    assert update(counted) == []
    assert update({"21-a": (4,), "22-c": (6,)}) == ["21-a"]  # which was 21a
    assert update(counted) == ["21-a", "21-b"]


def test_a_label_that_moves_to_another_page_makes_every_page_old():
    equations = {"eq-a": ("01", 1)}
    env = SimpleNamespace(
        get_domain=lambda name: SimpleNamespace(equations=equations), found_docs={"01", "02"}
    )
    moved = load("docstrings").moved_labels
    assert moved(None, env) == []
    equations["eq-b"] = ("01", 2)  # a new one, and another number, move nothing
    assert moved(None, env) == []
    equations["eq-a"] = ("02", 1)
    assert moved(None, env) == ["01", "02"]
    assert moved(None, env) == []


def test_an_implemented_equation_becomes_a_link():
    assert processed("Implements eq-none::", "", "    y = z") == [
        "Implements :eq:`eq-none`::",
        "",
        "    y = z",
    ]


def test_two_implemented_equations_become_two_links():
    assert processed("Implements eq-a, eq-b::") == ["Implements :eq:`eq-a`, :eq:`eq-b`::"]


def test_a_bar_in_prose_is_escaped_and_a_bar_in_a_literal_is_not():
    assert processed("Size |x| and ``|y|``.") == [r"Size \|x\| and ``|y|``."]


def test_a_literal_block_keeps_its_bars_and_ends_with_its_indent():
    found = processed("Computes::", "", "    |x|", "", "Then |x|.")
    assert found == ["Computes::", "", "    |x|", "", r"Then \|x\|."]


def test_a_doctest_keeps_its_bars():
    assert processed(">>> a | b") == [">>> a | b"]
    found = processed(">>> print(a)", "<|user|> it::", "<|end|>", "", "Then |x|.")
    assert found == [">>> print(a)", "<|user|> it::", "<|end|>", "", r"Then \|x\|."]


# --- links to the source --------------------------------------------------------------------


def source_line(place: str) -> str:
    file, _, line = place.partition("#L")
    text = (FOLDER.parents[1] / file).read_text(encoding="utf-8")
    return text.split("\n")[int(line) - 1]


@pytest.mark.parametrize(
    ("module", "name", "line"),
    [
        ("mathlm.reference", "softmax", "def softmax("),
        ("mathlm.errors", "ConfigError", "class ConfigError("),
        ("mathlm.text", "ChatTokenizer.encode", "    def encode("),
        ("mathlm.claims", "check", "def check("),
    ],
)
def test_an_object_leads_to_the_line_that_defines_it(module, name, line):
    importlib.import_module(module)
    place = load("source_links").place(module, name)
    assert source_line(place).startswith(line)


def test_a_property_leads_to_its_function_and_a_field_nowhere(tmp_path, monkeypatch):
    code = "class A:\n    size = 3\n\n    @property\n    def half(self):\n        return 1.5\n"
    (tmp_path / "drawn.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("drawn")
    links = load("source_links")
    assert links.place("drawn", "A.half") == "drawn.py#L5"
    assert links.place("drawn", "A.size") is None
    assert links.place("drawn", "B") is None


def test_the_address_is_that_of_the_repository():
    theme = {"repository_url": "https://x.org/book", "repository_branch": "main"}
    config = SimpleNamespace(html_theme_options=theme)
    load("source_links").add_resolver(None, config)
    found = config.linkcode_resolve(
        "py", {"module": "mathlm.errors", "fullname": "ConfigError"}
    )
    assert found.startswith("https://x.org/book/blob/main/mathlm/errors.py#L")
    assert config.linkcode_resolve("c", {"names": ["f"]}) is None
    theme["repository_url"] = "https://github.com/example/book"  # nobody's
    info = {"module": "mathlm.errors", "fullname": "ConfigError"}
    assert config.linkcode_resolve("py", info) is None


# --- links in the closing tables ------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "before", "file", "line"),
    [
        (
            "tests/reference/statistics/test_softmax.py::test_rows_sum_to_one",
            "",
            "tests/reference/statistics/test_softmax.py",
            None,
        ),
        ("docs/test_pages.py", "", "tests/docs/test_pages.py", None),
        (
            "tests/docs/test_pages.py::test_no_term_is_defined_twice",
            "",
            "tests/docs/test_pages.py",
            "def test_no_term_is_defined_twice(",
        ),
        ("test_search.py", "tests/docs/test_pages.py", "tests/docs/test_search.py", None),
        (
            "::test_no_term_is_defined_twice",
            "tests/docs/test_pages.py",
            "tests/docs/test_pages.py",
            "def test_no_term_is_defined_twice(",
        ),
    ],
)
def test_a_test_leads_to_its_file_and_its_line(text, before, file, line):
    place = load("table_links").test_place(text, before)
    assert place.partition("#")[0] == file
    if line is not None:
        assert source_line(place).startswith(line)


@pytest.mark.parametrize(
    "text", ["", "::test_alone", "tests/no/test_such.py", "mathlm.text", "../test_x.py"]
)
def test_what_is_no_test_leads_nowhere(text):
    assert load("table_links").test_place(text, "") is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("reference.softmax", "mathlm.reference.softmax"),
        ("mathlm.reference.softmax", "mathlm.reference.softmax"),
        ("layers.LSTM(..., forget_bias=b)", "mathlm.layers.LSTM"),
        ("layers.LSTM.step", "mathlm.layers.LSTM"),
        ("reference.hardmax", None),
        ('order="confidence"', None),
    ],
)
def test_a_function_or_the_class_of_a_method_is_found(text, name):
    known = {"mathlm.reference.softmax", "mathlm.layers.LSTM", "mathlm"}
    assert load("table_links").documented(text, known.__contains__) == name


def test_a_function_of_the_laboratory_leads_to_its_line():
    place = load("table_links").lab_place("lab.attention.soft_lookup.train(..., steps)")
    assert place.startswith("book/lab/attention/soft_lookup.py#L")
    assert source_line(place).startswith("def train(")
    for other in ("lab.attention.soft_lookup.none", "lab.attention.none.f", "text.f", "tests/"):
        assert load("table_links").lab_place(other) is None


def linked_table(address: str, section: str = "in-the-package") -> list[str]:
    """Where the names of a row lead on a page with this address of the repository."""
    nodes = pytest.importorskip("docutils.nodes")
    names = ("reference.softmax", "reference.hardmax", "tests/docs/test_pages.py")
    row = [nodes.entry("", nodes.paragraph("", "", nodes.literal("", name))) for name in names]
    page = nodes.section("", nodes.table("", *row), ids=[section])
    there = SimpleNamespace(docname="book/api/reference", node_id="mathlm.reference.softmax")
    domain = SimpleNamespace(objects={"mathlm.reference.softmax": there})
    theme = {"repository_url": address, "repository_branch": "main"}
    app = SimpleNamespace(
        env=SimpleNamespace(get_domain=lambda name: domain),
        config=SimpleNamespace(html_theme_options=theme),
        builder=SimpleNamespace(get_relative_uri=lambda page, target: f"to/{target}.html"),
    )
    load("table_links").add_links(app, nodes.container("", page), "book/03-probability")
    assert [cell.astext() for cell in page.findall(nodes.literal)] == [*names]
    return [link["refuri"] for link in page.findall(nodes.reference)]


def test_a_row_leads_to_the_documentation_and_with_an_address_to_the_test():
    documentation = "to/book/api/reference.html#mathlm.reference.softmax"
    test = "https://x.org/book/blob/main/tests/docs/test_pages.py"
    assert linked_table("https://x.org/book") == [documentation, test]
    assert linked_table("https://github.com/example/book") == [documentation]
    assert linked_table("https://x.org/book", "another-section") == []


# --- outlines, by which figures are numbered ------------------------------------------------


def outline_of(*children) -> list:
    """What is kept of a page: an environment in which figures are numbered."""
    nodes = pytest.importorskip("docutils.nodes")
    kinds = {nodes.figure: "figure", nodes.section: "section"}
    domain = SimpleNamespace(get_enumerable_node_type=lambda node: kinds.get(type(node)))
    env = SimpleNamespace(domains={"std": domain})
    return load("chapter_numbers").outlines(env, nodes.container("", *children))


def test_an_outline_keeps_figures_with_their_captions_in_their_sections():
    nodes = pytest.importorskip("docutils.nodes")
    figure = nodes.figure("", nodes.image(), nodes.caption("", "long"), ids=["f"])
    text = nodes.paragraph("", "text")
    quote = nodes.block_quote("", nodes.paragraph("", "", figure))
    (section,) = outline_of(nodes.section("", text, quote, ids=["s"]), nodes.paragraph())
    assert section["ids"] == ["s"]
    assert [kept["ids"] for kept in section.findall(nodes.figure)] == [["f"]]
    assert [kept.astext() for kept in section.findall(nodes.caption)] == ["x"]
    assert not list(section.findall(nodes.image))
    assert "text" not in section.astext()


def test_an_outline_keeps_the_pages_below_and_knows_nothing_of_its_page():
    addnodes = pytest.importorskip("sphinx.addnodes")
    (toctree,) = outline_of(addnodes.toctree(entries=[(None, "book/10-attention")]))
    assert toctree["entries"] == [(None, "book/10-attention")]
    assert toctree.document is None


def test_outlines_of_another_process_are_taken_over():
    env, other = SimpleNamespace(outlines={"a": 1}), SimpleNamespace(outlines={"b": 2, "c": 3})
    load("chapter_numbers").merge_outlines(None, env, ["b"], other)
    assert env.outlines == {"a": 1, "b": 2}


def test_extensions_that_say_nothing_are_declared_safe():
    names = ("sphinx_multitoc_numbering", "other")
    found = {name: SimpleNamespace(parallel_read_safe=None) for name in names}
    load("parallel").declare_safe(SimpleNamespace(extensions=found), None)
    assert [found[name].parallel_read_safe for name in names] == [True, None]


# --- checks, folded -------------------------------------------------------------------------


def highlighted(source: str) -> str:
    pygments = pytest.importorskip("pygments")
    lexer, formatter = pygments.lexers.PythonLexer(), pygments.formatters.HtmlFormatter()
    return pygments.highlight(source, lexer, formatter)


def cell(source: str) -> str:
    inside = f'<div class="highlight-ipython3">{highlighted(source)}</div>'
    return f'<div class="cell_input docutils container">\n{inside}</div>'


def folded(body: str) -> str:
    context = {"body": body}
    load("folded_checks").fold_page(None, "01-x", "page.html", context, None)
    return context["body"]


def text(html: str) -> str:
    return unescape(re.sub(r"<summary>.*?</summary>|<[^>]+>", "", html))


CHECKED = """y = x * 2
print(y)

# checks
assert y < 3
np.testing.assert_allclose(y, x + x)
for i in y:
    check("OPT-1-1", i, printed=2)
"""


def test_lines_below_the_comment_fold_into_one_that_counts_them():
    html = folded(cell(CHECKED))
    assert (
        '<details class="checks"><summary>✓ 3 checks</summary><span class="c1"># checks' in html
    )
    assert html.index("print") < html.index("<details") < html.index("assert")
    assert html.count("</details></pre>") == 1


def test_what_is_copied_is_the_whole_cell():
    assert text(folded(cell(CHECKED))).strip() == CHECKED.strip()


@pytest.mark.parametrize(
    ("lines", "title"),
    [
        ("# checks\nassert a", "✓ 1 check"),
        ("# checks\nassert a and b\nassert_close(a, b)", "✓ 2 checks"),
        ("%pip x\n# checks\nassert a\n%pip y", "✓ 1 check"),
        ("if a:\n    b\n    # checks\n    assert a", "✓ 1 check"),
    ],
)
def test_the_title_counts_assertions(lines, title):
    assert f"<summary>{title}</summary>" in folded(cell(lines))


@pytest.mark.parametrize("line", ["assert a  # checks", "# checks of a kind", 's = "# checks"'])
def test_only_the_bare_comment_folds(line):
    body = cell(f"{line}\nassert b")
    assert folded(body) == body


def test_code_that_is_no_cell_and_cells_without_the_comment_stay():
    body = f"<div class='highlight-python'>{highlighted(CHECKED)}</div>" + cell("assert a")
    assert folded(body) == body


def test_each_cell_folds_its_own_lines():
    html = folded(cell("a = 1") + cell(CHECKED) + cell("# checks\nassert a"))
    assert re.findall(r"✓ \d", html) == ["✓ 3", "✓ 1"]
    assert html.index("a</span>") < html.index("<details")


PLACE = '<section class="x" data-live="patching">\n<p>A model runs here.</p>\n</section>\n'


def placed(html: str, folder: Path) -> tuple[str, list[str]]:
    """A page of one block of HTML, and on what it depends."""
    nodes = pytest.importorskip("docutils.nodes")
    doctree, files = nodes.section("", nodes.raw("", html, format="html")), []
    app = SimpleNamespace(srcdir=folder, env=SimpleNamespace(note_dependency=files.append))
    load("live_places").place_views(app, doctree)
    return doctree.astext(), files


def test_the_picture_of_the_live_model_takes_the_place_of_the_sentence(tmp_path):
    path = tmp_path / "book" / "_static" / "live" / "still-patching.html"
    assert placed(PLACE, tmp_path) == (PLACE, [str(path)])  # none was made
    path.parent.mkdir(parents=True)
    path.write_text("<section data-live>é</section>", encoding="utf-8")
    assert placed(PLACE, tmp_path)[0] == "<section data-live>é</section>"


@pytest.mark.parametrize("html", ["<div>x</div>", f"{PLACE}<p>more</p>", "<section data-live>"])
def test_other_blocks_of_html_stay(tmp_path, html):
    assert placed(html, tmp_path) == (html, [])


def test_the_script_that_draws_the_icons_again_is_emptied_if_the_site_is_there(tmp_path):
    light = load("light_pages")
    script = tmp_path / light.ICONS
    app = SimpleNamespace(outdir=str(tmp_path))
    light.empty_icon_script(app, None)  # a builder without a theme has none
    script.parent.mkdir(parents=True)
    script.write_text("x" * 1000)
    light.empty_icon_script(app, RuntimeError())
    assert script.stat().st_size == 1000
    light.empty_icon_script(app, None)
    assert script.stat().st_size < 50


# --- pictures -------------------------------------------------------------------------------


def test_a_picture_has_its_place_before_it_is_there(tmp_path):
    pages = load("light_pages")
    drawing, picture = tmp_path / "a.svg", tmp_path / "b.png"
    drawing.write_text('<svg width="9pt" viewBox="0 0 460.8 244.8"></svg>')
    picture.write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 1432, 716))
    sources = {"1.svg": drawing, "2.png": picture}

    def tag(name, more=""):
        return f'<img alt="x" src="../_images/{name}"{more} />'

    assert pages.placed(tag("1.svg", ' style="width: 716px;"'), sources) == (
        '<img loading="lazy" width="716" height="380" alt="x" src="../_images/1.svg" '
        'style="width: 716px;" />'
    )
    assert 'width="1432" height="716"' in pages.placed(tag("2.png"), sources)
    assert pages.placed(tag("other.png"), sources) == tag("other.png")
    logo = '<img src="../_static/logo.svg" alt="x"/>'
    assert pages.placed(logo, sources) == logo


def test_a_figure_says_how_narrow_it_may_become(tmp_path):
    drawing = tmp_path / "a.svg"
    drawing.write_text('<svg width="9pt" viewBox="0 0 460.8 244.8"></svg>')

    def styled(classes):
        tag = f'<img class="{classes}" src="../_images/1.svg" style="width: 716px;" alt="x">'
        return load("light_pages").placed(tag, {"1.svg": drawing})

    assert 'style="--least: 470px; width: 716px;"' in styled("only least-470")
    assert 'style="width: 716px;"' in styled("only")
    assert 'style="--least: 716px; width: 716px;"' in styled("least-900")  # as it was drawn


# --- code -----------------------------------------------------------------------------------


def test_what_code_shows_in_the_color_of_plain_text_has_no_element():
    pages = load("light_pages")
    name, comma, sign = (
        f'<span class="{token}">{text}</span>'
        for token, text in [("n", "x"), ("p", ","), ("o", "=")]
    )

    def page(code):
        return f'<p>{name}</p><div class="highlight"><pre>{code}</pre></div><p>{name}</p>'

    assert pages.plain_code(page(name + comma + sign)) == page(f"x,{sign}")


@pytest.mark.parametrize("scheme", ["light", "dark"])  # of the theme
def test_both_schemes_leave_these_tokens_as_they_are(scheme):
    styles = pytest.importorskip("pygments.styles")
    tokens = pytest.importorskip("pygments.token")
    style = styles.get_style_by_name(f"a11y-high-contrast-{scheme}")
    plain = style.style_for_token(tokens.Text)
    of = {short: token for token, short in tokens.STANDARD_TYPES.items()}
    for name in load("light_pages").PLAIN:
        assert style.style_for_token(of[name]) == plain, name
    assert style.style_for_token(of["nf"]) != plain


# --- letters of the glossary ----------------------------------------------------------------


def test_letters_lead_to_the_first_term_of_each():
    nodes = pytest.importorskip("docutils.nodes")
    addnodes = pytest.importorskip("sphinx.addnodes")
    words = ["KL divergence", "(key) vector", "query", "8-bit"]
    terms = [nodes.term("", word) for word in words]
    items = [nodes.definition_list_item("", term) for term in terms]
    page = nodes.section("", addnodes.glossary("", nodes.definition_list("", *items)))
    load("glossary_letters").add_letters(None, page)
    links = page[0]
    assert links.astext().split() == ["#", "K", "Q"]
    assert [link["refuri"] for link in links.findall(nodes.reference)] == [
        "#letter-sign",
        "#letter-k",
        "#letter-q",
    ]
    assert [term["ids"] for term in terms] == [["letter-k"], [], ["letter-q"], ["letter-sign"]]


# --- docstrings: equations and types --------------------------------------------------------


def test_an_equation_stands_before_the_lines_of_its_docstring():
    typeset, known = load("docstrings").typeset, {"eq-square": "y = x^2 + 1"}
    assert typeset("  Implements eq-square::", known) == [
        "  Implements :eq:`eq-square`:",
        "",
        "  .. math::",
        "",
        "     y = x^2 + 1",
        "",
        "  In the letters of the code::",
    ]
    assert typeset("Implements eq-other::", known) == ["Implements :eq:`eq-other`::"]
    assert typeset("Computes::", known) == ["Computes::"]


def test_an_argument_gets_its_type_and_an_array_its_shape():
    jaxtyping = pytest.importorskip("jaxtyping")
    numpy = pytest.importorskip("numpy")
    many, rows = jaxtyping.Float[numpy.ndarray, "*batch T"], jaxtyping.Int[numpy.ndarray, "B"]

    def f(x: many, n: int, y: rows | None, kind: str = "a") -> None:
        return None

    known = load("docstrings").annotations(f)
    lines = [":param x: One.", ":param n: Two.", "    more", ":param y: Three.", ":param z: ?"]
    assert load("docstrings").with_types(lines, known) == [
        ":type x: ``ndarray of float, shape (*batch, T)``",
        ":param x: One.",
        ":type n: ``int``",
        ":param n: Two.",
        "    more",
        ":type y: ``ndarray of int, shape (B) or None``",
        ":param y: Three.",
        ":param z: ?",
    ]


def test_an_object_is_made_from_what_its_class_takes():
    class Made:
        def __init__(self, width: int) -> None:
            self.width = width

    assert load("docstrings").annotations(Made)["width"] is int
    assert load("docstrings").annotations(3) == {}

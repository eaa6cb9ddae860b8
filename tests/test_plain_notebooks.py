"""Pages without MyST, as Colab opens them: each construct, and every page of the book."""

from types import SimpleNamespace

import nbformat
import plain_notebooks as tool
import pytest
import yaml
from docs.test_extensions import load
from notebooks import code_cells, notebooks, tags

SITE = tool.settings()["site"]


@pytest.fixture(autouse=True)
def labels(monkeypatch):
    """Three labels and one term, whatever the book has."""
    page = f"{SITE}book/07-page.html"
    found = {
        "eq-one": tool.Place("(7.1)", f"{page}#equation-eq-one"),
        "ex-07-a": tool.Place("Exercise 7.2", f"{page}#ex-07-a"),
        "fig-07-b": tool.Place("Fig. 7.3", f"{page}#fig-07-b"),
    }
    term = {"key": tool.Place("key", f"{SITE}book/glossary.html#term-key")}
    with monkeypatch.context() as patch:
        patch.setattr(tool, "places", lambda: found)
        patch.setattr(tool, "terms", lambda: term)
        yield patch


def text(source):
    """A cell of a page, with the address of the site left out."""
    return tool.Text("07-page").cell(source).replace(f"{SITE}book/", "")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("by {eq}`eq-one`", "by [(7.1)](07-page.html#equation-eq-one)"),
        ("see {ref}`ex-07-a`", "see [Exercise 7.2](07-page.html#ex-07-a)"),
        ("{ref}`the exercise <ex-07-a>`", "[the exercise](07-page.html#ex-07-a)"),
        ("{numref}`fig-07-b` has", "[Fig. 7.3](07-page.html#fig-07-b) has"),
        ("a {term}`key`", "a [key](glossary.html#term-key)"),
        ("{term}`Keys <key>`", "[Keys](glossary.html#term-key)"),
        ("{cite}`vom`", "[[Radu, 2024](bibliography.html)]"),
        (
            "{cite}`vom,aim`",
            "[[Radu, 2024](bibliography.html), [AIM, undated](bibliography.html)]",
        ),
        ("{cite:t}`vaswani2017attention`", "Vaswani *et al.* [[2017](bibliography.html)]"),
        ("[one](10-attention.ipynb#a)", "[one](10-attention.html#a)"),
        ("[two](data-and-licences.md)", "[two](data-and-licences.html)"),
        ("[three](https://x.org/a.md)", "[three](https://x.org/a.md)"),
        ("`{eq}` and ``a `b` c``", "`{eq}` and ``a `b` c``"),
        ("$f[a](b)$ and \\$2", "$f[a](b)$ and \\$2"),
        ("$$\nx\n$$ (eq-one)", "$$\nx \\tag{7.1}\n$$"),
        ("$$\nx\n$$", "$$\nx\n$$"),
        ("```bash\nls ](a)\n```", "```bash\nls ](a)\n```"),
        (":::{note}\nA {term}`key`.\n:::", "> **Note**\n>\n> A [key](glossary.html#term-key)."),
        (
            ":::{admonition} A $d$\n:class: attention\n\n$$\na\nb\n$$\n:::\n\nafter",
            "> **A $d$**\n>\n> $$ a b $$\n\nafter",
        ),
        (
            ":::{admonition} More\n:class: note, dropdown\ninside\n:::",
            "<details>\n<summary>More</summary>\n\ninside\n\n</details>",
        ),
        (
            "::::{tab-set}\n:::{tab-item} One\nin one\n:::\n"
            ":::{tab-item} Two\nin two\n:::\n::::",
            "<details>\n<summary>One</summary>\n\nin one\n\n</details>\n\n"
            "<details>\n<summary>Two</summary>\n\nin two\n\n</details>",
        ),
        (
            ":::{exercise-start} By hand (5 minutes)\n:label: ex-07-a\n:::\n\nDo.\n\n"
            ":::{hint}\n:class: dropdown\nTry.\n:::\n\n:::{exercise-end}\n:::",
            "#### Exercise 7.2: By hand (5 minutes)\n\nDo.\n\n"
            "<details>\n<summary>Hint</summary>\n\nTry.\n\n</details>",
        ),
        (
            "before\n\n<section data-live='a'>\n<p>x</p>\n</section>\n\nafter",
            "before\n\n*On the site a part of this page runs here: "
            "[see it there](07-page.html).*\n\nafter",
        ),
    ],
)  # fmt: skip
def test_a_construct_becomes(source, expected):
    assert text(source) == expected


def test_a_box_in_a_box_closes_where_it_is_closed():
    source = "::::{admonition} A\n:::{hint}\nh\n:::\nend\n::::"
    assert text(source) == "> **A**\n>\n> > **Hint**\n> >\n> > h\n>\n> end"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{eq}`eq-none`", r"^\{eq\}`eq-none` leads nowhere$"),
        ("{term}`none`", r"^\{term\}`none` leads nowhere$"),
        ("{cite}`none`", r"^\{cite\}`none` leads nowhere$"),
        ("{abbr}`a (b)`", r"does not know the role \{abbr\}`a \(b\)`$"),
        (":::{figure} a.png\n:::", r"^07-page: no form is known for the directive \{figure\}$"),
    ],
)
def test_what_has_no_form_is_named(source, said):
    with pytest.raises(SystemExit, match=said):
        text(source)


# --- a notebook -----------------------------------------------------------------------------


def page():
    """A page with a cell of each kind; its solution goes on around two cells of code."""
    code, markdown = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
    figure = {"figure": {"name": "fig-07-b", "caption": "A {term}`key`."}}
    printed = nbformat.v4.new_output("stream", text="1\n")
    drawn = nbformat.v4.new_output("display_data", {"text/plain": "<Figure size 1x1>"})

    def cell(source, name, outputs=(), **metadata):
        made = code(source, metadata=metadata, outputs=list(outputs))
        made["id"] = name
        return made

    return nbformat.v4.new_notebook(
        cells=[
            markdown("# Title\n\nText."),
            cell("%pip install mathlm", "colab", tags=["colab", "remove-cell"]),
            cell("print(1)", "shown", [printed]),
            cell("assert True", "ledger", [printed], tags=["remove-cell"]),
            cell("draw()", "drawn", [drawn], tags=["hide-input"], mystnb=figure),
            markdown(":::{solution-start} ex-07-a\n:class: dropdown\n:::\n\nThink."),
            cell("print(1)", "solved", [printed]),
            markdown("Then."),
            cell("print(2)", "solved-too", [printed], tags=["remove-cell"]),
            markdown(":::{solution-end}\n:::"),
            cell("print(3)", "after", [printed]),
        ]
    )


def test_code_that_a_page_hides_is_shut_and_a_solution_shows_nothing_before_it_runs():
    nb = tool.plain(page(), "07-page")
    shut = {cell["id"] for cell in code_cells(nb) if cell.metadata.get("cellView") == "form"}
    assert shut == {"ledger", "drawn", "solved", "solved-too"}
    closed = {c["id"] for c in code_cells(nb) if "jupyter" in c.metadata}
    assert closed == shut
    assert {c["id"] for c in code_cells(nb) if c.outputs} == {"shown", "after"}
    assert [c["id"] for c in code_cells(nb)] == [c["id"] for c in code_cells(page())]


def test_a_solution_is_folded_piece_by_piece_and_marks_leave_no_cell():
    nb = tool.plain(page(), "07-page")
    words = [cell.source for cell in nb.cells if cell.cell_type == "markdown"]
    fold = "<details>\n<summary>Solution of exercise 7.2{}</summary>\n\n{}\n\n</details>"
    assert words[2:] == [fold.format("", "Think."), fold.format(", continued", "Then.")]
    assert words[1].replace(SITE, "") == "*Fig. 7.3:* A [key](book/glossary.html#term-key)."


def test_the_first_cell_says_where_the_page_is_at_home():
    first = tool.plain(page(), "07-page").cells[0].source.split("\n\n")
    assert (first[0], first[2]) == ("# Title", "Text.")
    assert f"]({SITE}), where [this page]({SITE}book/07-page.html)" in first[1]
    assert "Run the first code cell first" in first[1]


def test_a_good_notebook_has_no_fault():
    assert tool.faults(tool.plain(page(), "07-page"), page()) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("by {eq}`eq-one`", "holds the role '{eq}`'"),
        ("> by {cite:t}`vom`", "holds the role '{cite:t}`'"),
        (":::{note}\na\n:::", "holds the directive ':::{note}'"),
        ("> ```{note}\n> a", "holds the directive '> ```{note}'"),
        ("a\n:::", "holds the directive ':::'"),
        ("\n:class: dropdown", "holds the option of a directive ':class: dropdown'"),
        ("(a-place)=\n## A", "holds the label '(a-place)='"),
        ("$$\nx\n$$ (eq-one)", "holds the label '(eq-one)'"),
        ("[a](10-attention.ipynb)", "holds the link into the sources '](10-attention.ipynb)'"),
        ("<details>\n", "has a fold that does not end in cell "),
    ],
)
def test_what_is_left_of_myst_is_told(source, said):
    nb = tool.plain(page(), "07-page")
    nb.cells[0].source += f"\n\n{source}"
    assert any(fault.startswith(said) for fault in tool.faults(nb, page()))


def test_code_that_differs_and_a_notebook_that_is_none_are_told():
    nb = tool.plain(page(), "07-page")
    code_cells(nb)[1].source += "\n"
    assert tool.faults(nb, page()) == ["its code is not that of the page"]
    nb = tool.plain(page(), "07-page")
    nb.cells[0]["cell_type"] = "prose"
    assert "is not a valid notebook: " in tool.faults(nb, page())[0]


# --- the book -------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_page_is_written_without_myst_and_with_its_own_code(tmp_path, labels):
    labels.undo()
    said = []
    labels.setattr(tool.site_check, "SITE", tmp_path / "none")
    assert (tool.write(tmp_path / "out", said.append), said) == (0, [])
    written = sorted((tmp_path / "out" / "book").glob("*.ipynb"))
    assert [path.name for path in written] == [path.name for path in notebooks()]
    for path, source in zip(written, notebooks(), strict=True):
        nb, page = (nbformat.read(p, as_version=4) for p in (path, source))
        nbformat.validate(nb)
        assert [c.source for c in code_cells(nb)] == [c.source for c in code_cells(page)]
        assert tags(code_cells(nb)[0]) == ["colab", "remove-cell"]
        assert "cellView" not in code_cells(nb)[0].metadata


def test_pages_of_one_chapter_have_letters_and_guides_have_no_number():
    pages = ("10-attention", "03-probability", "03-estimation", "guide-tokenizer")
    assert [tool.numbers()[page] for page in pages] == ["10.", "3a.", "3b.", ""]


def test_numbers_go_through_a_page_and_through_all_guides(tmp_path, labels):
    """Counted by hand: two equations and a figure, then one of each on each of two guides."""
    labels.undo()
    tool.places.cache_clear()
    written = {"10-attention": 2, "guide-a": 1, "guide-b": 1}
    for name, equations in written.items():
        text = "\n".join(f"$$\nx\n$$ (eq-{name}-{i})" for i in range(equations))
        figure = {"mystnb": {"figure": {"name": f"fig-{name}"}}}
        cells = [
            nbformat.v4.new_markdown_cell(text),
            nbformat.v4.new_code_cell("draw()", metadata=figure),
        ]
        nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / f"{name}.ipynb")
    labels.setattr(tool, "order", lambda: list(written))
    labels.setattr(tool, "numbers", lambda: dict(zip(written, ("10.", "", ""), strict=True)))
    labels.setattr(tool, "notebooks", lambda: sorted(tmp_path.glob("*.ipynb"), reverse=True))
    words = {label: place.words for label, place in tool.places().items()}
    tool.places.cache_clear()
    assert words == {
        "eq-10-attention-0": "(10.1)",
        "eq-10-attention-1": "(10.2)",
        "fig-10-attention": "Fig. 10.1",
        "eq-guide-a-0": "(1)",
        "fig-guide-a": "Fig. 1",
        "eq-guide-b-0": "(2)",
        "fig-guide-b": "Fig. 2",
    }


def test_the_first_equation_of_attention_is_its_first_number(labels):
    labels.undo()
    words, address = tool.places()["eq-attention"]
    assert (words, address) == ("(10.1)", f"{SITE}book/10-attention.html#equation-eq-attention")


@pytest.mark.parametrize(
    ("name", "place"), [("KL divergence", "KL-divergence"), ("Rényi entropy", "Renyi-entropy")]
)
def test_a_term_has_the_address_that_sphinx_makes(name, place):
    sphinx_nodes = pytest.importorskip("sphinx.util.nodes")
    assert tool.anchor(name) == place == sphinx_nodes._make_id(name)


BUILT = """
<span class="eqno">(7.{})<a class="headerlink" href="#equation-eq-one" title="x">#</a></span>
<div id="fig-07-b"><span class="caption-number">Fig. 7.{} </span><a href="#fig-07-b">#</a></div>
<div class="exercise admonition" id="ex-07-a">
<p class="admonition-title"><span class="caption-number">Exercise 7.{} </span></p></div>
"""


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ((1, 3, 2), []),
        ((4, 3, 2), ["says (7.1), and its page (7.4)"]),
        ((1, 4, 2), ["says Fig. 7.3, and its page Fig. 7.4"]),
        ((1, 3, 4), ["says Exercise 7.2, and its page Exercise 7.4"]),
    ],
)
def test_numbers_are_compared_with_the_site(tmp_path, numbers, said):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "07-page.html").write_text(BUILT.format(*numbers), encoding="utf-8")
    assert tool.miscounted("07-page", tmp_path) == said


def test_links_are_compared_with_the_site(tmp_path):
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "07-page.html").write_text("<p id='a'></p>", encoding="utf-8")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(
        f"[x]({SITE}book/07-page.html#a) [y]({SITE}book/07-page.html#b) [z]({SITE}book/no.html)"
    )])  # fmt: skip
    assert tool.lost(nb, tmp_path) == [
        "links to book/07-page.html, where there is no #b",
        "links to book/no.html, which the site does not have",
    ]


# --- where they are published ---------------------------------------------------------------


def test_the_button_for_colab_opens_what_the_workflow_publishes():
    extension = load("addresses")
    text = (tool.ROOT / ".github/workflows/pages.yml").read_text("utf-8")
    (branch,) = {
        step["run"].split("--initial-branch ")[1].split()[0]
        for step in yaml.safe_load(text)["jobs"]["notebooks"]["steps"]
        if "run" in step
    }
    before = "https://colab.research.google.com/github/a/b/blob/main/book/10-attention.ipynb"
    other = "https://mybinder.org/v2/gh/a/b/main?urlpath=lab/tree/book/10-attention.ipynb"
    buttons = [{"text": "Colab", "url": before}, {"text": "Binder", "url": other}]
    context = {"header_buttons": [{"buttons": buttons}, {"type": "link"}]}
    config = SimpleNamespace(html_theme_options={"repository_branch": "main"})
    app = SimpleNamespace(config=config)
    extension.lead_to_plain_notebooks(app, "a", "page.html", context, None)
    assert [button["url"] for button in buttons] == [
        before.replace("/blob/main/", f"/blob/{branch}/"),
        other,
    ]


def test_ci_keeps_what_the_tool_writes():
    text = (tool.ROOT / ".github/workflows/ci.yml").read_text("utf-8")
    kept = [s["with"] for s in yaml.safe_load(text)["jobs"]["cpu"]["steps"] if "with" in s]
    paths = {artifact["path"] for artifact in kept if artifact.get("name") == "notebooks"}
    assert paths == {tool.FOLDER.relative_to(tool.ROOT).as_posix()}
    assert "make notebooks" in (tool.ROOT / ".ci" / "run").read_text("utf-8")

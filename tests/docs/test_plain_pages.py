"""Pages as Markdown: what each kind of node becomes, and the list of pages."""

import re
from types import SimpleNamespace

import pytest
import site_check
from docs.test_extensions import load

RST = """
A title
=======

Some *stressed*, **bold** and ``literal`` text with :math:`x_i` and a `link <https://x.org/a>`_
for $2.

.. math::

   y = x^2

- one

  more of it
- two

1. first
2. second

a term
  What it *means*,
  in two lines.

======  ======
a       b|c
======  ======
1       |x|
======  ======

.. note:: Look here.

   Twice.

.. image:: picture.png
   :alt: What it shows

::

  code & code

  more

>>> 1 + 1
2

.. a comment

Below
-----

.. raw:: html

   <div class="mathlm-demo" data-demo="a" aria-label="Two &amp; two"><script>no()</script></div>

.. raw:: html

   <div class="mathlm-show"><pre><span></span><span class="k">def</span> f(x):
       return x &lt; 1
   </pre></div>

.. raw:: html

   <div id="claim"></div>
"""
MARKDOWN = """# 7 A title {#a-title}

Some *stressed*, **bold** and `literal` text with $x_i$ and a [link](https://x.org/a)
for \\$2.

$$
y = x^2
$$ (7.3)

- one

  more of it
- two

1. first
2. second

a term
:   What it *means*,
    in two lines.

| a | b\\|c |
| --- | --- |
| 1 | \\|x\\| |

> **Note**
>
> Look here.
>
> Twice.

![What it shows](../_images/picture.png)

```text
code & code

more
```

```python
>>> 1 + 1
2
```

## 7.1 Below {#below}

*Interactive demo: Two & two.*

```python
def f(x):
    return x < 1
```
"""


@pytest.fixture(scope="module")
def tool():
    return load("plain_pages")


@pytest.fixture
def doctree():
    """What docutils makes of the text above, in one section as Sphinx has it."""
    core = pytest.importorskip("docutils.core")
    nodes = pytest.importorskip("docutils.nodes")
    settings = {"doctitle_xform": False, "report_level": 5, "smart_quotes": False}
    tree = core.publish_doctree(RST.replace("|x|", r"\|x\|"), settings_overrides=settings)
    for math in tree.findall(nodes.math_block):
        math["ids"] = ["equation-a"]
    return tree


@pytest.fixture
def app(tmp_path):
    builder = SimpleNamespace(images={"picture.png": "picture.png"}, imgpath="../_images")
    env = SimpleNamespace(
        toc_secnumbers={"book/07-a": {"": (7,), "#below": (7, 1)}},
        toc_fignumbers={"book/07-a": {"displaymath": {"equation-a": (7, 3)}}},
    )
    return SimpleNamespace(env=env, builder=builder, outdir=str(tmp_path))


def test_a_page_becomes_markdown(tool, app, doctree):
    assert tool.markdown(app, "book/07-a", doctree) == MARKDOWN


def test_a_page_is_written_beside_the_html_which_says_so(tool, app, doctree, tmp_path):
    context = {"metatags": "<meta/>"}
    tool.write_page(app, "book/07-a", "page.html", context, doctree)
    assert (tmp_path / "book" / "07-a.md").read_text("utf-8") == MARKDOWN
    assert context["metatags"].startswith("<meta/>\n")
    (link,) = site_check.parse(context["metatags"]).assets
    assert link == "07-a.md"
    assert 'rel="alternate" type="text/markdown"' in context["metatags"]
    tool.write_page(app, "genindex", "genindex.html", context, None)  # it has no text
    assert not (tmp_path / "genindex.md").exists()


def test_cells_show_their_code_and_what_it_printed(tool):
    nodes = pytest.importorskip("docutils.nodes")
    code = nodes.literal_block("", "print(1)", language="ipython3")
    printed = nodes.literal_block("", "1\n", language="myst-ansi")
    cell = nodes.container(
        "",
        nodes.container("", code, classes=["cell_input"]),
        nodes.container("", printed, classes=["cell_output"]),
        classes=["cell"],
    )
    assert tool.Page({}, {}, {}).blocks(cell) == ["```python\nprint(1)\n```", "```text\n1\n```"]


def test_a_figure_has_its_number_and_a_link_inside_the_book_its_address(tool):
    nodes = pytest.importorskip("docutils.nodes")
    caption = nodes.caption("", "", nodes.Text("It falls."))
    figure = nodes.figure("", nodes.image(uri="a.png", alt="A curve"), caption, ids=["fig-a"])
    link = nodes.reference("", "", nodes.Text("(7.3)"), refid="equation-a", internal=True)
    page = tool.Page({}, {"figure": {"fig-a": (7, 2)}}, {"a.png": "../_images/a.png"})
    assert page.block(figure) == ["![A curve](../_images/a.png)", "Figure 7.2: It falls."]
    assert page.block(nodes.paragraph("", "", link)) == ["[(7.3)](#equation-a)"]


def test_code_with_a_fence_of_its_own_has_a_longer_one(tool):
    nodes = pytest.importorskip("docutils.nodes")
    block = nodes.literal_block("", "```\nx\n```", language="none")
    assert tool.Page({}, {}, {}).block(block) == ["````text\n```\nx\n```\n````"]


# --- the list -------------------------------------------------------------------------------

PAGES = {
    "book/index": "# The Book {#the-book}\n\nDerives how\nit works.\n\n## Map {#map}\n",
    "book/01-a": "# 1 First {#first}\n\nOne is [one](x.html).\nIs it?\n\n## 1.1 Then {#then}\n",
    "book/02-b": "# 2 Second {#second}\n\nOpening.\n\n**The question.** What is $2$?\n",
    "book/api/x": "# mathlm.x {#mathlm-x}\n\nFunctions.\n",
}
TOC = {
    "root": "book/index",
    "parts": [
        {
            "caption": "I Start",
            "chapters": [{"file": "book/01-a", "sections": [{"file": "book/02-b"}]}],
        },
        {"caption": "Reference", "chapters": [{"file": "book/api/x"}, {"file": "book/gone"}]},
    ],
}


def test_the_list_has_the_form_of_its_convention(tool, tmp_path):
    """See https://llmstxt.org: a title, a quotation, sections of links with a word on each."""
    for name, text in PAGES.items():
        (tmp_path / f"{name}.md").parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    text = tool.llms_txt(tmp_path, TOC, "The Book", "https://x.org/b/")
    title, summary, _, *rest = text.rstrip("\n").split("\n\n")
    assert (title, summary) == ("# The Book", "> Derives how it works.")
    assert rest == [
        "## I Start",
        "- [1 First](https://x.org/b/book/01-a.md): One is one. Is it?\n"
        "- [2 Second](https://x.org/b/book/02-b.md): What is $2$?",
        "## Optional",
        "- [mathlm.x](https://x.org/b/book/api/x.md): Functions.",
    ]


# --- a site that was built ------------------------------------------------------------------

built = pytest.mark.skipif(
    not (site_check.SITE / "llms.txt").exists(), reason="no site has been built here"
)


@built
def test_every_page_of_the_site_has_its_text_without_script_or_role():
    site = site_check.SITE
    pages = list((site / "book").rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        text = page.with_suffix(".md").read_text("utf-8")
        prose = re.sub(r"^(?:> )*(`{3,}).*?^(?:> )*\1$", "", text, flags=re.M | re.S)
        prose = re.sub(r"`[^`\n]*`", "", prose)
        assert not re.search(r"<script|<style|<div|\{[a-z:]+\}`", prose), page.name
        assert 'rel="alternate" type="text/markdown"' in page.read_text("utf-8")


@built
def test_every_page_of_the_list_is_there():
    text = (site_check.SITE / "llms.txt").read_text("utf-8")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+\.md)\): \S", text, re.M)
    assert len(links) > 60
    assert [link for link in links if not link.startswith("http")
            and not (site_check.SITE / link).exists()] == []  # fmt: skip

"""Write each page as Markdown too, and ``llms.txt``, which lists them: for programs that read.

Equations are TeX, cells are code and what it printed, roles are words and links, and each
heading has its number and its address, so that whoever reads the text can cite the place. The
search index is made from the same files, see ``search_index.py``. The list has the form of
https://llmstxt.org: a title, a summary, and links in sections.
"""

import posixpath
import re
from html import unescape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx

SKIPPED = {
    "comment", "index", "meta", "substitution_definition", "system_message",
    "tabular_col_spec", "toctree", "desc_signature_line", "caption", "title", "label",
}  # fmt: skip
DEMO = re.compile(r'<div class="mathlm-demo[^>]*? aria-label="([^"]*)"')
SHOWN = re.compile(r'<div class="mathlm-show">.*?<pre>(.*?)</pre>', re.S)
TAG = re.compile(r"<[^>]+>")
QUESTION = re.compile(r"^\*\*(?:The q|Q)uestions?\.\*\* (.+)$", re.M)
OPTIONAL = ("book/api/", "book/claims-")  # what a reader in a hurry may leave out


class Page:
    """A page that is written: what its nodes say, as lines of Markdown.

    Args:
        numbers: Number of each section by its address, with ``#``; "" is that of the page.
        figures: Number of each thing that has one, by its kind and address.
        images: Address of each image, by its path in the sources.
    """

    def __init__(
        self,
        numbers: dict[str, Any],
        figures: dict[str, dict[str, Any]],
        images: dict[str, str],
    ) -> None:
        self.numbers, self.figures, self.images = numbers, figures, images
        self.depth = 0

    # --- lines ------------------------------------------------------------------------------

    def inline(self, node: nodes.Node) -> str:
        """What stands in one line."""
        if isinstance(node, nodes.Text):
            return node.astext().replace("$", r"\$")  # a dollar, and no formula
        method = getattr(self, f"inline_{type(node).__name__}", None)
        return method(node) if method else self.inside(node)

    def inside(self, node: nodes.Node) -> str:
        return "".join(map(self.inline, node.children))

    def inline_emphasis(self, node: nodes.Node) -> str:
        return f"*{self.inside(node)}*"

    def inline_strong(self, node: nodes.Node) -> str:
        return f"**{self.inside(node)}**"

    def inline_literal(self, node: nodes.Node) -> str:
        text = node.astext()
        return f"`` {text} ``" if "`" in text else f"`{text}`"

    def inline_math(self, node: nodes.Node) -> str:
        return f"${node.astext().strip()}$"

    def inline_raw(self, node: nodes.Node) -> str:
        return "\n" if node.astext().startswith("<br") else ""

    def inline_comment(self, node: nodes.Node) -> str:
        return ""

    inline_index = inline_target = inline_comment

    def inline_reference(self, node: Any) -> str:
        to = node.get("refuri") or f"#{node.get('refid', '')}"
        text = self.inside(node)
        return f"[{text}]({to})" if text.strip() and not text.startswith("![") else text

    inline_number_reference = inline_download_reference = inline_reference

    def inline_image(self, node: Any) -> str:
        return f"![{node.get('alt', '')}]({self.images.get(node['uri'], node['uri'])})"

    # --- blocks -----------------------------------------------------------------------------

    def block(self, node: nodes.Node) -> list[str]:
        """Blocks of lines, which stand apart."""
        name = type(node).__name__
        if name in SKIPPED:
            return []
        if method := getattr(self, f"block_{name}", None):
            return method(node)
        if isinstance(node, nodes.Admonition):
            return self.block_admonition(node)
        if isinstance(node, nodes.Text | nodes.TextElement | nodes.Inline):
            return [text] if (text := self.inline(node).strip()) else []
        return self.blocks(node)

    def blocks(self, node: nodes.Node) -> list[str]:
        return [text for child in node.children for text in self.block(child)]

    def heading(self, text: str, address: str) -> str:
        place = f" {{#{address}}}" if address else ""
        return f"{'#' * min(self.depth, 6)} {text}{place}"

    def block_section(self, node: Any) -> list[str]:
        self.depth += 1
        address = node["ids"][0] if node["ids"] else ""
        number = self.numbers.get("" if self.depth == 1 else f"#{address}") or ()
        heads = [
            self.heading(f"{'.'.join(map(str, number))} {self.inside(title)}".strip(), address)
            for title in node.children
            if isinstance(title, nodes.title)
        ]
        found = heads + self.blocks(node)
        self.depth -= 1
        return found

    def block_math_block(self, node: Any) -> list[str]:
        number = self.figures.get("displaymath", {}).get(next(iter(node["ids"]), ""), ())
        label = f" ({'.'.join(map(str, number))})" if number else ""
        return [f"$$\n{node.astext().strip()}\n$${label}"]

    def block_literal_block(self, node: Any) -> list[str]:
        output = "output" in " ".join(node.parent.get("classes", [])) if node.parent else False
        language = "text" if output else node.get("language", "text")
        language = {"ipython3": "python", "ipython": "python", "none": "text"}.get(
            language, language
        )
        text = node.astext().rstrip("\n")
        fence = "````" if "```" in text else "```"
        return [f"{fence}{language}\n{text}\n{fence}"]

    def block_doctest_block(self, node: nodes.Node) -> list[str]:
        return [f"```python\n{node.astext()}\n```"]

    def block_raw(self, node: Any) -> list[str]:
        text = node.astext()
        if found := DEMO.search(text):
            return [f"*Interactive demo: {unescape(found[1])}.*"]
        if found := SHOWN.search(text):
            code = unescape(TAG.sub("", found[1])).strip("\n")
            return [f"```python\n{code}\n```"]
        return []

    def block_image(self, node: nodes.Node) -> list[str]:
        return [self.inline_image(node)]

    def block_figure(self, node: Any) -> list[str]:
        number = self.figures.get("figure", {}).get(next(iter(node["ids"]), ""), ())
        captions = [self.inside(c) for c in node.children if isinstance(c, nodes.caption)]
        label = f"Figure {'.'.join(map(str, number))}: " if number else ""
        return self.blocks(node) + [f"{label}{' '.join(captions)}".strip()] * bool(captions)

    def block_bullet_list(self, node: nodes.Node) -> list[str]:
        return ["\n".join(self.item(child, "- ") for child in node.children)]

    def block_enumerated_list(self, node: Any) -> list[str]:
        start = node.get("start", 1)
        marks = [f"{number}. " for number in range(start, start + len(node.children))]
        return ["\n".join(map(self.item, node.children, marks))]

    def item(self, node: nodes.Node, mark: str) -> str:
        return mark + indented("\n\n".join(self.blocks(node)), len(mark)).lstrip()

    def block_definition_list(self, node: nodes.Node) -> list[str]:
        return [self.definition(child) for child in node.children]

    def definition(self, node: nodes.Node) -> str:
        terms = [child for child in node.children if isinstance(child, nodes.term)]
        lines = [
            self.inside(term) + "".join(f" {{#{address}}}" for address in term["ids"][:1])
            for term in terms
        ]
        said = [
            text
            for child in node.children
            if isinstance(child, nodes.definition)
            for text in self.blocks(child)
        ]
        return "\n".join([*lines, ":   " + indented("\n\n".join(said), 4).lstrip()])

    def block_field(self, node: nodes.Node) -> list[str]:
        name, body = node.children
        return [f"**{self.inside(name)}:**", *self.blocks(body)]

    def block_block_quote(self, node: nodes.Node) -> list[str]:
        return [quoted(self.blocks(node))]

    def block_admonition(self, node: Any) -> list[str]:
        """A box, an exercise or a fold: its title, then what it holds."""
        titles = [self.inside(c) for c in node.children if isinstance(c, nodes.title)]
        title = " ".join(titles) or type(node).__name__.capitalize()
        return [quoted([f"**{title}**", *self.blocks(node)])]

    block_solution_node = block_topic = block_sidebar = block_admonition

    def block_exercise_node(self, node: Any) -> list[str]:
        titles = [self.inside(c) for c in node.children if isinstance(c, nodes.title)]
        title = " ".join(titles).strip().removeprefix("(").removesuffix(")")
        return [quoted([f"**Exercise: {title}**", *self.blocks(node)])]

    block_exercise_enumerable_node = block_exercise_node

    def block_rubric(self, node: nodes.Node) -> list[str]:
        return [f"**{self.inside(node)}**"]

    def block_transition(self, node: nodes.Node) -> list[str]:
        return ["---"]

    def block_table(self, node: nodes.Node) -> list[str]:
        titles = [self.inside(c) for c in node.children if isinstance(c, nodes.title)]
        rows = [
            [self.table_cell(entry) for entry in row.children]
            for row in node.findall(nodes.row)
        ]
        if not rows:
            return titles
        rule = ["---"] * len(rows[0])
        lines = [f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]]]
        return [*titles, "\n".join(lines)]

    def table_cell(self, node: nodes.Node) -> str:
        return " ".join(" ".join(self.blocks(node)).split()).replace("|", "\\|")

    def block_footnote(self, node: Any) -> list[str]:
        label, *rest = node.children
        text = " ".join(text for child in rest for text in self.block(child))
        return [f"[{label.astext()}] {text}"]

    block_citation = block_footnote

    def block_desc(self, node: nodes.Node) -> list[str]:
        """A function or a class of the package, under its signature."""
        self.depth += 1
        heads = [child for child in node.children if type(child).__name__ == "desc_signature"]
        found = [
            self.heading(f"`{signature(head)}`", next(iter(head["ids"]), "")) for head in heads
        ]
        found += [
            text for child in node.children if child not in heads for text in self.block(child)
        ]
        self.depth -= 1
        return found


def signature(node: nodes.Node) -> str:
    """What a reader would type, without the link to the source."""
    parts = [
        child.astext() for child in node.children if not isinstance(child, nodes.reference)
    ]
    return " ".join("".join(parts).replace("[source]", "").split())


def indented(text: str, width: int) -> str:
    """Every line but the empty ones moved to the right."""
    return "\n".join(" " * width + line if line else "" for line in text.split("\n"))


def quoted(blocks: list[str]) -> str:
    """Blocks as a quotation."""
    return "\n".join(f"> {line}".rstrip() for line in "\n\n".join(blocks).split("\n"))


# --- a page ---------------------------------------------------------------------------------


def markdown(app: Sphinx, pagename: str, doctree: nodes.document) -> str:
    """A page with all that Sphinx knows of its numbers and images."""
    env, builder = app.env, app.builder
    images = {
        uri: posixpath.join(builder.imgpath, name) for uri, name in builder.images.items()
    }
    page = Page(
        env.toc_secnumbers.get(pagename, {}), env.toc_fignumbers.get(pagename, {}), images
    )
    return "\n\n".join(page.blocks(doctree)) + "\n"


def write_page(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the Markdown beside the page, and say there that it exists."""
    if doctree is None:
        return
    path = Path(app.outdir, f"{pagename}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown(app, pagename, doctree), encoding="utf-8")
    context["metatags"] = (
        f'{context.get("metatags", "")}\n<link rel="alternate" type="text/markdown" '
        f'href="{path.name}" title="This page as plain text" />'
    )


# --- the list -------------------------------------------------------------------------------


def first_words(text: str) -> str:
    """What a page says it is about: its question, or else its first paragraph."""
    found = QUESTION.search(text)
    words = found[1] if found else opening_words(text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(words.split()))


def entry(site: Path, name: str, base: str) -> str:
    """The line of a page."""
    text = (site / f"{name}.md").read_text(encoding="utf-8")
    title = re.sub(r" \{#[^}]*\}$", "", text.split("\n", 1)[0].lstrip("# "))
    words = first_words(text)
    return f"- [{title}]({base}{name}.md)" + (f": {words}" if words else "")


def pages_below(chapters: list[dict[str, Any]]) -> list[str]:
    """Names of pages in the order in which they are read."""
    return [
        name
        for chapter in chapters
        for name in [chapter["file"], *(page["file"] for page in chapter.get("sections", []))]
    ]


def llms_txt(site: Path, toc: dict[str, Any], title: str, base: str) -> str:
    """The list of pages, by the parts of the book."""
    opening = (site / f"{toc['root']}.md").read_text(encoding="utf-8")
    parts = {part["caption"]: pages_below(part["chapters"]) for part in toc["parts"]}
    rest = [page for pages in parts.values() for page in pages if page.startswith(OPTIONAL)]
    kept = {
        caption: [page for page in pages if page not in rest]
        for caption, pages in parts.items()
    }
    blocks = [
        f"# {title}",
        f"> {' '.join(opening_words(opening).split())}",
        "Each page is Markdown with equations in TeX, code, and what the code printed. A "
        "heading ends with its address: `## 10.2 Title {#name}` is `10-attention.html#name`. "
        "Vectors are rows, and logarithms are natural.",
    ]
    for caption, pages in {**kept, "Optional": rest}.items():
        if there := [page for page in pages if (site / f"{page}.md").exists()]:
            blocks += [f"## {caption}", "\n".join(entry(site, page, base) for page in there)]
    return "\n\n".join(blocks) + "\n"


def opening_words(text: str) -> str:
    """The first paragraph of a page."""
    return next((b for b in text.split("\n\n")[1:] if b[:1].isalpha()), "")


def write_list(app: Sphinx, exception: Exception | None) -> None:
    """Write ``llms.txt`` once all pages are there."""
    if exception is None and app.builder.format == "html":
        toc = yaml.safe_load(Path(app.config.external_toc_path).read_text(encoding="utf-8"))
        site = Path(app.outdir)
        text = llms_txt(site, toc, app.config.html_title, app.config.html_baseurl)
        (site / "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write when a page has its final form."""
    app.connect("html-page-context", write_page)
    app.connect("build-finished", write_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

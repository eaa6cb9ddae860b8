"""Search by sections: what each says, as one script that a page loads when somebody searches.

Sphinx has an index of words and asks for whole pages to show a line of them, which a browser
does not allow from a file. Here the index is the text itself, without code, with formulas as
one would say them in a line; ``_static/search/engine.js`` counts its words when it is first
used. The text is that of ``plain_pages.py``: no second look at the nodes of Sphinx is needed.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx

INDEX = Path("_static", "search", "index.js")
TEMPLATES = Path(__file__).resolve().parents[1] / "_templates"
KINDS = {  # of pages, by their names: the engine ranks by them
    r"(^|/)04-conventions$": "appendix",
    r"(^|/)guide-": "guide",
    r"(^|/)\d\d-": "chapter",
    r"(^|/)api/": "api",
    r"(^|/)claims": "claims",
    r"(^|/)glossary$": "glossary",
    r"(^|/)(equations|figures|data-and-licences)$": "list",
    r"(^|/)bibliography$": "references",
}
DISPLAYED = 60  # letters of an equation that a line of text may still hold
KEPT = {"api": 200, "list": 300}  # letters: the beginning of a docstring, and no long tables


class Section(NamedTuple):
    """What stands below a heading, down to the next one.

    Args:
        headings: Titles of the page, of the sections around it and of the section itself.
        address: Its anchor; empty at the top of a page.
        text: Without code, in one line.
    """

    headings: tuple[str, ...]
    address: str
    text: str


# --- Markdown -------------------------------------------------------------------------------

FENCE = re.compile(r"^(?:> ?)*\s*(`{3,}|~{3,})")
HEADING = re.compile(r"^(?:> ?)*(#{1,6}) +(.*?)(?: \{#([^}]*)\})?$")
TERM = re.compile(r"^(?=\S)(?![:>|-])(.+?)(?: \{#([^}]*)\})?\n(?=(?::   |  )\S)", re.M)
CLAIM = re.compile(r"^\*\*((?:OPT|VOM|AIM|MFP)-[\w.-]+)\*\* ", re.M)  # in the ledger
DIRECTIVE = re.compile(r"^(?:> ?)*\s*:{3,}|^(?:> ?)*\s*:[\w-]+:|^\([\w-]+\)=$")
ROLE = re.compile(r"\{(?P<name>[a-z:]+)\}`(?P<text>[^`<]*?)(?: *<[^`>]*>)?`")
SILENT = {"eq", "cite", "cite:p", "cite:t", "numref", "ref"}  # a number, or a name
SPOKEN = [
    (re.compile(r"<(?:style|script)\b.*?</(?:style|script)>|<!--.*?-->", re.S), " "),
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), " "),
    (re.compile(r"\[([^\[\]]*)\]\([^)\s]*\)"), r"\1"),
    (re.compile(r"\[\[([^\[\]]*)\]\([^)\s]*\)\]"), r"[\1]"),
    (re.compile(r"</?[a-zA-Z][^<>]*>"), " "),
    (re.compile(r"`?(?:tests/)?[\w/]+\.py::\w+`?"), " "),  # a test, in the table of a chapter
    (re.compile(r"^(?:> ?)+", re.M), ""),
    (re.compile(r"^\|(?: *:?-+:? *\|)+$", re.M), ""),
    (re.compile(r"(?<!\\)\|"), " ; "),
    (re.compile(r"\\\n"), "\n"),
    (re.compile(r"\*{1,3}(?=\S)([^*]*[^*\s])\*{1,3}"), r"\1"),
    (re.compile(r"^:   |^ *(?:[-*]|\d+\.) ", re.M), ""),
    (re.compile(r"`+"), ""),
]


def without_code(markdown: str) -> Iterator[str]:
    """The lines that are no code, and say nothing of how a page is made."""
    fence = ""
    for line in markdown.split("\n"):
        found = FENCE.match(line)
        if fence:
            fence = "" if found and found[1].startswith(fence) else fence
        elif found:
            fence = found[1]
        elif not DIRECTIVE.match(line):
            yield line


def sections(markdown: str) -> list[Section]:
    """The sections of a page; a term of a glossary is one."""
    found: list[Section] = []
    above: list[tuple[int, str]] = []
    address, lines = "", list[str]()

    def close() -> None:
        headings = tuple(title for _, title in above)
        if headings and (plain("\n".join(lines)) or len(headings) > 1 or not found):
            found.extend(split(headings, address, "\n".join(lines)))
        lines.clear()

    for line in without_code(markdown):
        if (heading := HEADING.match(line)) is None:
            lines.append(line)
            continue
        close()
        depth = len(heading[1])
        above = [entry for entry in above if entry[0] < depth] + [(depth, plain(heading[2]))]
        address = heading[3] or "" if len(above) > 1 else ""
    close()
    return found


def split(headings: tuple[str, ...], address: str, text: str) -> Iterator[Section]:
    """A section, and each term that it defines, or claim that it checks, as one of its own."""
    before, *terms = TERM.split(text)
    before, *claims = CLAIM.split(before)
    yield Section(headings, address, plain(before))
    for term, place, definition in zip(*[iter(terms)] * 3, strict=True):
        yield Section((*headings, plain(term)), place or address, plain(definition))
    for name, said in zip(*[iter(claims)] * 2, strict=True):
        yield Section((*headings, name), name, plain(said))


def plain(markdown: str) -> str:
    """Words in one line: no marks, no roles, formulas as :func:`spoken` has them."""
    text = re.sub(r"\$\$(.*?)\$\$(?: *\([^)\n]*\))?", displayed, markdown, flags=re.S)
    text = re.sub(r"(?<!\\)\$([^$\n]+)\$", lambda math: spoken(math[1]), text)
    text = ROLE.sub(lambda role: "" if role["name"] in SILENT else role["text"], text)
    for pattern, by in SPOKEN:
        text = pattern.sub(by, text)
    text = re.sub(r"\s+", " ", unescape(text).replace("\\", ""))
    text = re.sub(r"(?: ;)+(?= ;)|\([\s,;]*\)|\[[\s,;]*\]|^ ?;|; ?$|,\s*(?=[,)])", "", text)
    text = re.sub(r"\((\([^()\s]+\.\d+\))\)", r"\1", text)  # the number of an equation
    return re.sub(r" +([.,;:!?])(?=\s|$)", r"\1", text).strip()


# --- formulas -------------------------------------------------------------------------------

SPELLED = (
    "alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ kappa κ "
    "lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ phi φ varphi φ chi χ psi ψ omega ω "
    "Gamma Γ Delta Δ Theta Θ Lambda Λ Sigma Σ Phi Φ Psi Ψ Omega Ω ell ℓ nabla ∇ partial ∂ "
    "infty ∞ sum ∑ prod ∏ int ∫ cdot · times × odot ⊙ le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ "
    "approx ≈ sim ∼ propto ∝ in ∈ notin ∉ to → rightarrow → leftarrow ← Rightarrow ⇒ "
    "Longrightarrow ⇒ iff ⇔ mid | Vert ‖ lVert ‖ rVert ‖ dots … cdots … ldots … vdots … "
    "top ᵀ star * ast * pm ± langle ⟨ rangle ⟩ cap ∩ cup ∪ succ ≻ prec ≺ ll ≪ gg ≫ circ ∘ "
    "perp ⊥ mapsto ↦ varnothing ∅ setminus ∖ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ "
)
LETTERS = SPELLED.split()
SIGNS = dict(zip(LETTERS[::2], LETTERS[1::2], strict=True))
NAMED = {"log", "ln", "exp", "max", "min", "arg", "sin", "cos", "tanh", "det", "lim", "sup"}
BRACED = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
ONE = r"(\\[A-Za-z]+|[^\s\\{}])"  # what a command takes if no brace follows
EITHER = rf"\s*(?:{BRACED}|{ONE})"
FORMULA = [
    (re.compile(r"\\(?:begin|end)\{[^}]*\}(?:\{[^}]*\})?"), " "),
    (re.compile(r"\\(?:text|mathrm|operatorname|textbf|textit|texttt)\*?" + BRACED), r" \1 "),
    (re.compile(r"\\(?:label|tag)" + BRACED), ""),
    (re.compile(r"\\(?:[dt]?frac)" + EITHER + EITHER), r"(\1\2)/(\3\4)"),
    (re.compile(r"\\sqrt\s*" + BRACED), r"√{\1}"),
    (re.compile(r"\\sqrt\s*" + ONE), r"√\1"),
    (re.compile(r"\\(?:under|over)brace" + BRACED + r"(?:[_^]" + BRACED + ")?"), r"\1"),
    (
        re.compile(
            r"\\(?:mathbf|boldsymbol|mathbb|mathcal|mathsf|bar|tilde|hat|overline)\b\s*"
        ),
        " ",
    ),
    (
        re.compile(r"\\(?:[bB]ig+[lrm]?|left|right|middle|textstyle|displaystyle|nolimits)\b"),
        "",
    ),
    (re.compile(r"\\(?:quad|qquad)\b|\\[,;:!> ]|\\\\|~|&"), " "),
    (re.compile(r"\\[|]"), "‖"),
]
LAST = [
    (re.compile(r"\\([{}%$#_])"), r"\1"),
    (re.compile(r"\^\{?ᵀ\}?"), "ᵀ"),
    (re.compile(r"\s*([_^])\s*|([({])\s+|\s+(?=[)}])"), r"\1\2"),
    (re.compile(r"([_^])\{([\w'*+-]?\w{0,2})\}"), r"\1\2"),
    (re.compile(r"√\{([^{}\s]+)\}"), r"√\1"),
    (re.compile(r"\(([^()\s]{1,4})\)/\(([^()\s]{1,4})\)"), r"\1/\2"),
    (re.compile(r"([√^_])\{([^{}]*)\}"), r"\1(\2)"),
    (re.compile(r"[{}]"), ""),
    (re.compile(r"\s+"), " "),
]


def command(found: re.Match[str]) -> str:
    """A command of TeX as a sign or a word."""
    name = found[1]
    return SIGNS.get(name) or (f" {name} " if name in NAMED else "")


@cache
def spoken(tex: str) -> str:
    """A formula in one line, as one would type it: √d_k, x Wᵀ, log p(y|x)."""
    for _ in range(3):  # braces in braces
        for pattern, by in FORMULA:
            tex = pattern.sub(by, tex)
    tex = re.sub(r"\\([A-Za-z]+)\s*", command, tex)
    for pattern, by in LAST:
        tex = pattern.sub(by, tex)
    return tex.strip()


def displayed(found: re.Match[str]) -> str:
    """A displayed equation, if it is short enough to be read in a line."""
    text = spoken(found[1])
    return f" {text} " if len(text) <= DISPLAYED else " … "


# --- the index ------------------------------------------------------------------------------


def kind(name: str) -> str:
    """Of a page: a chapter, a reference, or the rest."""
    return next((kind for pattern, kind in KINDS.items() if re.search(pattern, name)), "other")


def called(heading: str) -> str:
    """A heading; of a function, its name without its arguments."""
    return re.sub(r"^((?:class )?mathlm[\w.]*)\(.*", r"\1", heading)


def index(pages: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """What the engine reads, from the name and the Markdown of each page."""
    found = []
    for name, text in pages:
        of_page, kept = sections(text), KEPT.get(kind(name))
        rows = [[[*map(called, s.headings[1:])], s.address, s.text[:kept]] for s in of_page]
        title = of_page[0].headings[0]
        found.append({"name": name, "title": title, "kind": kind(name), "rows": rows})
    return {"pages": found}


def script(pages: Iterable[tuple[str, str]]) -> str:
    """The index as a script, which a browser also loads from a file."""
    content = json.dumps(index(pages), ensure_ascii=False, separators=(",", ":"))
    return f"var mathlmSearchIndex = {content};\n"


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the index when the Markdown of all pages is there."""
    if exception is None and app.builder.format == "html":
        site = Path(app.outdir)
        names = [name for name in sorted(app.env.found_docs) if (site / f"{name}.md").exists()]
        texts = ((name, (site / f"{name}.md").read_text(encoding="utf-8")) for name in names)
        (site / INDEX).parent.mkdir(parents=True, exist_ok=True)
        (site / INDEX).write_text(script(texts), encoding="utf-8")


def leave_out_sphinx(app: Sphinx) -> None:
    """Sphinx makes no index of its own, which every page would load."""
    app.builder.search = False


def add_page(app: Sphinx) -> list[tuple[str, dict[str, Any], str]]:
    """The page of results, to which the field of the theme leads."""
    return [("search", {"title": "Search"}, "search.html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Templates that load nothing of Sphinx's search; the index after the pages."""
    app.config.templates_path.insert(0, str(TEMPLATES))
    app.add_js_file("search/search.js", loading_method="defer")
    app.add_css_file("search/search.css")
    app.connect("builder-inited", leave_out_sphinx)
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", write_index, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

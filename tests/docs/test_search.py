"""The search of the book: what it finds, in what order, and what its index holds."""

import json
import re
import shutil
import subprocess

import pytest
import site_check
from docs.test_extensions import load
from notebooks import BOOK, notebooks

SEARCH = BOOK / "_static" / "search"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

whole = pytest.mark.slow  # the first of them makes the index of the book

# What readers type, and the page on which the book teaches it.
QUERIES = {
    "softmax": "03-probability",
    "KV cache": "20-fast-generation",
    "LoRA": "21-small-updates",
    "GRPO": "23-policy-optimization",
    "perplexity": "18-perplexity",
    "rotary": "14-positional-encoding",
    "sqrt d_k": "10-attention",
    "DPO loss": "24-preference-optimization",
    "RoPE": "14-positional-encoding",
    "scaling law": "26-scaling-laws",
    "attention": "10-attention",
    "byte pair encoding": "08-tokenization",
    "cross entropy": "03-probability",
    "layer norm": "12-transformer-block",
    "backpropagation": "05-neural-networks",
    "Adam": "06-optimization",
    "transformer": "15-transformer-forward",
    "flash attention": "13-multi-head-attention",
    "beam search": "20-generation",
    "top-p": "20-generation",
    "PPO": "23-policy-optimization",
    "superposition": "25-features",
    "induction head": "25-interpretability",
    "Chinchilla": "26-scaling-laws",
    "temperature": "20-generation",
    "word2vec": "09-embeddings",
    "LSTM": "07-sequences",
    "mixture of experts": "17-mixture-of-experts",
    "quantization": "20-fast-generation",
    "RLHF": "23-policy-optimization",
    "BPE": "08-tokenization",
    "nucleus sampling": "20-generation",
    "why divide by the square root of d_k": "10-attention",
    "causal mask": "11-self-attention",
    "learning rate warmup": "06-optimization",
    "vanishing gradients": "07-sequences",
    "how do I train a language model": "19-pretraining",
    "SVD": "01-linear-algebra",
    "chain rule": "02-calculus",
    "Bradley-Terry": "22-reward-models",
    "speculative decoding": "20-fast-generation",
    "grouped query attention": "13-multi-head-attention",
    "instruction tuning": "21-fine-tuning",
    "Mamba": "17-state-space",
    "KL divergence": "03-probability",
    "gradient accumulation": "19-pretraining",
    "paged attention": "20-serving",
    "sparse autoencoder": "25-features",
    "dropout": "06-initialization",
    "pre-norm vs post-norm": "12-depth",
}
MISTYPED = {
    "perplexty": "18-perplexity",
    "quantizaton": "20-fast-generation",
    "tranfsormer": "15-transformer-forward",
}
BEGUN = {
    "tokeniz": "08-tokenization",
    "speculat": "20-fast-generation",
    "eigenv": "01-linear-algebra",
}
OTHER = {
    "OPT-1-5": "claims-opt",
    "all-to-all": "19-training-at-scale",
    "λ": "01-linear-algebra",
}

RUN = """
const [engineFile, indexFile] = process.argv.slice(1), fs = require("fs");
const search = require(engineFile);
new Function(fs.readFileSync(indexFile, "utf8").replace("var ", "globalThis."))();
const engine = search.engine(globalThis.mathlmSearchIndex);
const asked = JSON.parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(asked.map((query) => engine.find(query))));
"""


def node(program, *arguments, stdin=""):
    command = ["node", "-e", program, *map(str, arguments)]
    run = subprocess.run(command, input=stdin, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def prose(path):
    """The Markdown of a page of the sources."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    cells = json.loads(text)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


@pytest.fixture(scope="module")
def tool():
    return load("search_index")


@pytest.fixture(scope="module")
def script(tool):
    """The index of the sources: without what a build adds, such as docstrings and numbers."""
    paths = [*notebooks(), *sorted(BOOK.glob("*.md")), *sorted((BOOK / "api").glob("*.md"))]
    names = [path.relative_to(BOOK.parent).with_suffix("").as_posix() for path in paths]
    return tool.script((name, prose(path)) for name, path in zip(names, paths, strict=True))


@pytest.fixture(scope="module")
def index(script, tmp_path_factory):
    path = tmp_path_factory.mktemp("search") / "index.js"
    path.write_text(script, encoding="utf-8")
    return path


def answers(index, queries):
    found = node(RUN, SEARCH / "engine.js", index, stdin=json.dumps(list(queries)))
    return dict(zip(queries, found, strict=True))


@pytest.fixture(scope="module")
def found(index):
    return answers(index, [*QUERIES, *MISTYPED, *BEGUN, *OTHER, "", "the", "qzxv"])


def best(answer, most=3):
    return [page["name"].removeprefix("book/") for page in answer["pages"][:most]]


# --- what is found --------------------------------------------------------------------------


@whole
@pytest.mark.parametrize(("query", "page"), (QUERIES | OTHER).items())
def test_the_page_that_teaches_it_is_among_the_first_three(found, query, page):
    assert page in best(found[query])


@whole
def test_a_claim_is_found_by_its_name(found):
    (page, *_) = found["OPT-1-5"]["pages"]
    assert (page["name"], page["sections"][0]["headings"][-1]) == ("book/claims-opt", "OPT-1-5")


@whole
def test_most_queries_have_their_page_first(found):
    first = [query for query, page in QUERIES.items() if best(found[query], 1) == [page]]
    assert len(first) >= 0.7 * len(QUERIES)


@whole
@pytest.mark.parametrize(("query", "page"), MISTYPED.items())
def test_a_word_that_is_mistyped_is_told_and_found(found, query, page):
    assert page in best(found[query])
    ((typed, like),) = found[query]["corrected"]
    assert typed == query.lower()
    assert like in page or like in {"quantization", "transformer"}


@whole
@pytest.mark.parametrize(("query", "page"), BEGUN.items())
def test_a_word_that_is_begun_is_found(found, query, page):
    assert page in best(found[query])
    assert found[query]["corrected"] == []


@whole
def test_chapters_come_before_glossary_claims_and_reference(found):
    kinds = {query: [page["kind"] for page in found[query]["pages"]] for query in QUERIES}
    assert {
        query for query, of in kinds.items() if of[0] not in {"chapter", "appendix"}
    } == set()


@whole
@pytest.mark.parametrize("query", ["", "qzxv"])
def test_nothing_is_found_where_nothing_is(found, query):
    assert found[query] == {"pages": [], "corrected": [], "total": 0}


@whole
def test_results_are_sections_with_a_line_of_their_text(found):
    (page, *_) = found["KV cache"]["pages"]
    headings = [section["headings"] for section in page["sections"]]
    assert len(headings) == 3
    assert any("The cache" in of for of in headings)
    assert [section["value"] for section in page["sections"]] == sorted(
        (section["value"] for section in page["sections"]), reverse=True
    )
    marked = [text.lower() for s in page["sections"] for text, hit in s["snippet"] if hit]
    assert marked
    assert all(text.startswith(("cach", "kv", "key", "value")) for text in marked)


@whole
def test_lines_are_short_readable_and_hold_no_tex(found):
    lines = [
        "".join(text for text, _ in section["snippet"])
        for answer in found.values()
        for page in answer["pages"]
        for section in page["sections"]
    ]
    assert len(lines) > 500
    assert max(map(len, lines)) <= 190
    assert [
        line for line in lines if re.search(r"\\[a-zA-Z]|\$|`|\{[a-z]+\}|</?[a-z]+[ >]", line)
    ] == []


# --- words ----------------------------------------------------------------------------------


@whole
def test_words_are_stemmed_as_porter_does(script):
    """The program of snowballstemmer is generated from Porter's own definition."""
    snowball = pytest.importorskip("snowballstemmer").stemmer("porter")
    known = sorted(set(re.findall(r"\b[a-z]{3,}\b", script.lower())))
    program = "console.log(JSON.stringify(JSON.parse(require('fs').readFileSync(0)).map("
    program += "require(process.argv[1]).stem)))"
    stems = node(program, SEARCH / "engine.js", stdin=json.dumps(known))
    assert len(known) > 5000
    other = {
        word: (ours, theirs)
        for word, ours, theirs in zip(known, stems, snowball.stemWords(known), strict=True)
        if ours != theirs
    }
    assert other == {
        "grokking": ("grok", "grokk")
    }  # snowballstemmer does not know kk as a double


def test_names_greek_letters_and_roots_are_words():
    program = "console.log(JSON.stringify(require(process.argv[1]).words(process.argv[2])))"
    text = "The √d_k of λ, naïve byte-pair dot_product models' GPT-2."
    assert node(program, SEARCH / "engine.js", text) == [
        *("sqrt", "d_k", "lambda", "naiv", "byte", "pair", "dot_product", "dot", "product"),
        *("model", "gpt", "2"),
    ]


# --- the index ------------------------------------------------------------------------------

PAGE = """# 10 Attention {#attention}

An **average** of [values](09.html#x), see {term}`score <scores>` and {eq}`eq-a`:

$$
\\mathbf y=\\sum_i a_i\\mathbf v_i
$$ (10.1)

## 10.1 Why $\\sqrt{d_k}$ {#why}

Hidden `code`.

```python
secret = 1  # not in the index
```

> **Exercise: One**
>
> ```text
> secret = 2
> ```
>
> | a | b |
> | --- | --- |
> | $x^2$ | two |

### Empty {#empty}
"""


def test_a_page_is_split_at_its_headings(tool):
    top, why, empty = tool.sections(PAGE)
    assert top == (
        ("10 Attention",),
        "",
        "An average of values, see score and: y=∑_i a_i v_i",
    )
    assert why[:2] == (("10 Attention", "10.1 Why √d_k"), "why")
    assert why.text == "Hidden code. Exercise: One; a; b; x^2; two"
    assert empty == (("10 Attention", "10.1 Why √d_k", "Empty"), "empty", "")


def test_a_term_and_a_claim_are_sections(tool):
    text = "# G\n\nIntro.\n\na term {#term-a}\n:   What it\n    means.\n\nother\n:   More.\n"
    assert tool.sections(text) == [
        (("G",), "", "Intro."),
        (("G", "a term"), "term-a", "What it means."),
        (("G", "other"), "", "More."),
    ]
    text = "# C\n\n## T {#t}\n\n**OPT-1-5** · imprecise\nSaid.\n\n**OPT-1-9** · right\n"
    assert tool.sections(text)[1:] == [
        (("C", "T"), "t", ""),
        (("C", "T", "OPT-1-5"), "OPT-1-5", "· imprecise Said."),
        (("C", "T", "OPT-1-9"), "OPT-1-9", "· right"),
    ]


@pytest.mark.parametrize(
    ("tex", "said"),
    [
        (r"\sqrt{d_k}", "√d_k"),
        (r"\mathbf x\mathbf W^\top+\mathbf b", "x Wᵀ+ b"),
        (r"p_\theta(y\mid x)", "p_θ(y|x)"),
        (r"\tfrac12\log\frac{p}{q}", "1/2 log p/q"),
        (
            r"\operatorname{softmax}\!\left(\frac{\mathbf Q\mathbf K^\top}{\sqrt{d_k}}\right)",
            "softmax ((Q Kᵀ)/(√d_k))",
        ),
        (r"-\frac1N\sum_{t=1}^N\log q(x_t\mid x_{<t})", "-1/N∑_(t=1)^N log q(x_t|x_(<t))"),
        (r"\mathbf v\in\mathbb R^{D\times F}", "v∈R^(D×F)"),
        (r"e^{-x/2}", "e^(-x/2)"),
    ],
)
def test_a_formula_is_said_in_a_line(tool, tex, said):
    assert tool.spoken(tex) == said
    assert not re.search(r"[\\{}$]", tool.spoken(tex))


@whole
def test_no_section_of_the_book_holds_code_or_tex(script):
    rows = [row for page in json.loads(script[23:-2])["pages"] for row in page["rows"]]
    texts = [row[2] for row in rows] + [heading for row in rows for heading in row[0]]
    assert len(rows) > 1500
    bad = [text for text in texts if re.search(r"\\[a-zA-Z]+|\$[^\d ]|\{[a-z:]+\}`|```", text)]
    assert bad == []
    assert "import numpy" not in " ".join(texts)


# --- in a page ------------------------------------------------------------------------------


def test_engine_and_index_are_loaded_on_use_and_nothing_is_fetched():
    text = (SEARCH / "search.js").read_text("utf-8") + (SEARCH / "engine.js").read_text("utf-8")
    assert not re.search(r"\bfetch\(|XMLHttpRequest|\bimport\b|https?://", text)
    layout = (BOOK / "_templates" / "layout.html").read_text("utf-8")
    assert "searchindex" not in layout
    assert "engine.js" not in layout


def opened(site, query, profile):
    """What stands in the page of results in a browser, which reads it from a file."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    address = f"{(site / 'search.html').as_uri()}?q={query}"
    run = subprocess.run(
        [BROWSER, *options, "--virtual-time-budget=20000", "--dump-dom", address],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return run.stdout


@whole
@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
def test_in_a_browser_the_page_of_results_works_from_a_file(script, tmp_path):
    shutil.copytree(SEARCH, tmp_path / "_static" / "search")
    (tmp_path / "_static" / "search" / "index.js").write_text(script, "utf-8")
    page = '<div class="bd-search-container"><form><input name="q"></form>'
    page += '<div id="search-results"></div></div>'
    source = '<script defer src="_static/search/search.js"></script>'
    (tmp_path / "search.html").write_text(f"<!doctype html><body>{source}{page}", "utf-8")
    html = opened(tmp_path, "kv%20cache", tmp_path / "profile")
    links = re.findall(r'<a href="([^"]+)" class="page">', html)
    assert links[0] == (tmp_path / "book" / "20-fast-generation.html").as_uri()
    assert '<p role="status">The 20 best of' in html
    assert "<mark>cache</mark>" in html
    (tmp_path / "_static" / "search" / "index.js").unlink()
    html = opened(tmp_path, "kv%20cache", tmp_path / "profile")
    assert "The index of the search could not be loaded." in html


# --- a site that was built ------------------------------------------------------------------

SITE_INDEX = site_check.SITE / "_static" / "search" / "index.js"
built = pytest.mark.skipif(not SITE_INDEX.exists(), reason="no site has been built here")


@built
def test_the_index_of_the_site_finds_the_same_pages():
    found = answers(SITE_INDEX, QUERIES)
    missed = {q: best(found[q]) for q, page in QUERIES.items() if page not in best(found[q])}
    assert missed == {}


@built
def test_every_section_of_the_index_is_in_the_site():
    content = json.loads(SITE_INDEX.read_text("utf-8").split(" = ", 1)[1].rstrip(";\n"))
    lost = [
        (page["name"], address)
        for page in content["pages"]
        for _, address, _ in page["rows"]
        if address
        and address not in site_check.page(site_check.SITE / f"{page['name']}.html").anchors
    ]
    assert lost == []


@built
def test_no_page_of_the_site_loads_an_index():
    for path in site_check.SITE.rglob("*.html"):
        assert not re.search(
            r"searchindex\.js|search/(?:index|engine)\.js", path.read_text("utf-8")
        )

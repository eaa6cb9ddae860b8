"""The address of the repository: written everywhere at once, and told if it is nobody's."""

import json
import re
import shutil
import subprocess
from types import SimpleNamespace

import address as tool
import notebooks
import pytest
import yaml
from docs.test_extensions import load

NEW = "https://github.com/no-one-else/engine.notes"
PAGES = "https://no-one-else.github.io/engine.notes/"
CHAPTERS = ("04-notation", "13-multi-head-attention")


@pytest.fixture
def copy(tmp_path):
    """The files that name the repository, and two of the pages."""
    (tmp_path / "book").mkdir()
    for name in [*tool.MENTIONS, *(f"book/{page}.ipynb" for page in CHAPTERS)]:
        shutil.copy(tool.ROOT / name, tmp_path / name)
    return tmp_path


def texts(folder):
    return {path: path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}


def test_every_place_of_the_project_names_the_address_of_its_settings():
    assert tool.faults(tool.ROOT) == []


def test_the_new_address_stands_wherever_the_old_one_stood(copy, capsys):
    old = tool.current(copy)
    before = texts(copy)
    assert tool.main(["set", NEW], copy) == 0
    assert f"6 files changed: {NEW}, published at {PAGES}\n" in capsys.readouterr().out
    for path, text in texts(copy).items():
        assert not [word for word in (*old, "/content/mathlm-book") if word in text], path
        assert text.count(NEW) == before[path].count(old.url)
        assert text.count(PAGES) == before[path].count(old.pages)
    config = yaml.safe_load((copy / "_config.yml").read_text("utf-8"))
    assert config["repository"]["url"] == NEW
    assert config["html"]["baseurl"] == config["sphinx"]["config"]["ogp_site_url"] == PAGES


def test_colab_gets_its_copy_from_the_new_address(copy, monkeypatch):
    tool.set_address(copy, tool.address(NEW))
    monkeypatch.setattr(notebooks, "repository", lambda: NEW)
    for page in CHAPTERS:
        cells = json.loads((copy / "book" / f"{page}.ipynb").read_text("utf-8"))["cells"]
        (cell,) = (cell for cell in cells if cell["id"] == "colab")
        assert "".join(cell["source"]) == notebooks.colab_source(page)
        assert "/content/engine.notes/book" in "".join(cell["source"])


def test_the_way_there_and_back_leaves_every_byte(copy):
    before, old = texts(copy), tool.current(copy)
    assert len(tool.set_address(copy, tool.address(NEW, "https://x.org"))) == 6
    assert tool.current(copy) == (NEW, "https://x.org/")
    tool.set_address(copy, old)
    assert texts(copy) == before
    assert tool.set_address(copy, old) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("_config.yml", "ogp_site_url: {pages}"),
        ("CITATION.cff", "repository-code: {url}"),
        ("README.md", "<{pages}>"),
        ("pyproject.toml", 'Repository = "{url}"'),
        ("book/04-notation.ipynb", "git clone -q --depth 1 {url} "),
    ],
)
def test_a_place_with_another_address_is_told(copy, capsys, name, line):
    path, old = copy / name, tool.current(copy)
    text = path.read_text("utf-8")
    assert old.fill(line) in text
    other = tool.Address(NEW, PAGES).fill(line)
    path.write_text(text.replace(old.fill(line), other), "utf-8")
    assert tool.main(["check"], copy) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith(f"{name} lacks ")
    assert said[0].endswith(f"make address URL={old.url}")


def test_an_address_that_begins_like_this_one_stays():
    old, new = (
        tool.Address("https://github.com/a/b", "https://a.github.io/b/"),
        tool.address(NEW),
    )
    text = "https://github.com/a/b-data https://github.com/a/b.py https://github.com/a/b.git."
    assert tool.replace(text, old, new) == text.replace(
        "a/b.git", "no-one-else/engine.notes.git"
    )
    assert tool.replace("See https://github.com/a/b.", old, new) == f"See {NEW}."


@pytest.mark.parametrize(
    ("typed", "pages"),
    [
        ("https://github.com/No-One/Notes", "https://no-one.github.io/Notes/"),
        ("https://github.com/No-One/Notes.git", "https://no-one.github.io/Notes/"),
        ("https://github.com/No-One/Notes/", "https://no-one.github.io/Notes/"),
        ("https://github.com/No-One/no-one.github.io", "https://no-one.github.io/"),
    ],
)
def test_pages_are_published_where_github_says(typed, pages):
    """See https://docs.github.com/en/pages: OWNER.github.io/REPOSITORY, or without a path."""
    found = tool.address(typed)
    assert found.url == typed.removesuffix("/").removesuffix(".git")
    assert found.pages == pages


@pytest.mark.parametrize(
    "typed", ["", "github.com/a/b", "https://gitlab.com/a/b", "https://github.com/a"]
)
def test_what_is_no_repository_on_github_is_refused(copy, typed):
    before = texts(copy)
    with pytest.raises(SystemExit, match=r"is not the address of a repository on GitHub"):
        tool.main(["set", typed], copy)
    with pytest.raises(SystemExit, match=r"'pages' is not an address of pages"):
        tool.main(["set", NEW, "--pages", "pages"], copy)
    assert texts(copy) == before


def test_make_passes_both_addresses_on():
    for given, said in (("", ""), (" PAGES=https://x.org/b/", ' --pages "https://x.org/b/"')):
        command = f"make --dry-run --silent -o .venv/.complete address URL={NEW}{given}"
        run = subprocess.run(command.split(), cwd=tool.ROOT, capture_output=True, text=True)
        assert re.search(rf'tools/address\.py set "{NEW}" ?{re.escape(said)}\n', run.stdout)


# --- while it is nobody's -------------------------------------------------------------------


def settings(url):
    """What the extension leaves of the settings of a site."""
    theme = {"repository_url": url, "launch_buttons": {"colab_url": "https://colab.org"}}
    theme |= {f"use_{name}_button": True for name in ("repository", "issues", "download")}
    config = SimpleNamespace(html_theme_options=theme, html_baseurl="x", ogp_site_url="x")
    tags = set()
    load("addresses").hide_what_leads_nowhere(SimpleNamespace(tags=tags), config)
    return config, tags


def test_without_an_address_no_button_leads_nowhere():
    config, tags = settings("https://github.com/example/mathlm-book")
    theme = config.html_theme_options
    shown = {name for name, on in theme.items() if on is True}
    assert shown == {"use_download_button"}
    assert (theme["launch_buttons"], config.html_baseurl, config.ogp_site_url) == ({}, "", "")
    assert tags == set()


def test_with_an_address_all_buttons_stay():
    config, tags = settings(NEW)
    shown = {name for name, on in config.html_theme_options.items() if on is True}
    assert shown == {"use_repository_button", "use_issues_button", "use_download_button"}
    assert config.html_theme_options["launch_buttons"]
    assert config.html_baseurl == config.ogp_site_url == "x"
    assert tags == {"published"}


@pytest.mark.parametrize(("base", "kept"), [("", 1), ("https://x.org/", 2)])
def test_a_page_says_where_it_is_published_only_if_it_is(base, kept):
    tags = (
        '<meta property="og:title" content="A" />\n<meta property="og:url" content="a.html" />'
    )
    app, context = (
        SimpleNamespace(config=SimpleNamespace(html_baseurl=base)),
        {"metatags": tags},
    )
    load("addresses").drop_own_address(app, "a", "page.html", context, None)
    assert context["metatags"].count("<meta") == kept
    assert ("og:url" in context["metatags"]) is bool(base)


@pytest.mark.parametrize(
    ("url", "nobody"),
    [
        ("https://github.com/example/book", True),
        (NEW, False),
        ("https://github.com/a/example", False),
    ],
)
def test_both_halves_know_whose_address_is_nobodys(url, nobody):
    assert notebooks.is_placeholder(url) is nobody
    assert load("addresses").is_placeholder(url) is nobody

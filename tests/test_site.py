"""The check of the built pages, on small pages."""

import pytest
import site_check as tool

HEAD = "<html><body id='top'>"


def faults(tmp_path, body):
    (tmp_path / "b.html").write_text("<h1 id='here'>B</h1>")
    (tmp_path / "a.html").write_text(HEAD + body)
    tool.page.cache_clear()
    tool.target.cache_clear()
    return tool.faults(tmp_path / "a.html")


def test_links_that_lead_somewhere_are_no_fault(tmp_path):
    body = "<a href='b.html#here'>b</a><a href='#top'>a</a><a href='https://x.org'>x</a>"
    assert faults(tmp_path, body) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("<a href='c.html'>c</a>", "links to c.html, which does not exist"),
        ("<a href='b.html#gone'>b</a>", "links to b.html#gone, but there is no #gone"),
        ("<img src='x.png'>", "links to x.png, which does not exist"),
        ("<link rel='alternate' href='a.md'>", "links to a.md, which does not exist"),
        ("<script src='https://cdn.org/x.js'></script>", "fetches https://cdn.org/x.js"),
        ("<link rel='stylesheet' href='//cdn.org/x.css'>", "fetches //cdn.org/x.css"),
    ],
)
def test_each_fault_is_found(tmp_path, body, fault):
    assert faults(tmp_path, body) == [fault]


def test_addresses_are_read_from_tags_and_not_from_scripts_comments_or_text():
    page = tool.parse(
        "<!-- <a href='no'> --><script src='s.js'>x = '<a href=\"no\">'</script>"
        "<p title='1 > 0'\n  data-id=\"d\" id='p'>&lt;a href='no'&gt;</p>"
        "<input disabled name='n'>"
        '<a class=x href="b.html?a=1&amp;b=2#c">b</a><link rel="icon" href="i.png"/>'
    )
    assert page.links == ["b.html?a=1&b=2#c"]
    assert page.assets == ["s.js", "i.png"]
    assert page.anchors == {"p", "n"}

"""One PDF of many pages: which pages, where links lead, and what the bookmarks say."""

import io

import pytest

make_pdf = pytest.importorskip("make_pdf")

TOC = {
    "root": "book/index",
    "parts": [
        {
            "caption": "I One",
            "chapters": [
                {"file": "book/01-a", "sections": [{"file": "book/01-b"}]},
                {"file": "book/02-c"},
            ],
        },
        {
            "caption": "Reference",
            "chapters": [{"file": "book/claims"}, {"file": "book/glossary"}],
        },
    ],
}


def test_pages_come_in_the_order_of_the_contents_with_their_parts():
    assert make_pdf.pages(TOC) == [
        (None, "book/index"),
        ("I One", "book/01-a"),
        (None, "book/01-b"),
        (None, "book/02-c"),
        ("Reference", "book/glossary"),
    ]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("10.1. Attention on three keys#", "10.1. Attention on three keys"),
        ("4a.7. 4a.7. The other rulesThe other rules", "4a.7. The other rules"),
        ("Summary", "Summary"),
        ("The shapes", "The shapes"),
    ],
)
def test_a_heading_is_said_once(found, said):
    assert make_pdf.heading(found) == said


@pytest.fixture
def site(tmp_path, monkeypatch):
    """Two pages that lead to one another."""
    monkeypatch.setattr(make_pdf, "SITE", tmp_path)
    (tmp_path / "book").mkdir()
    links = '<a href="02-c.html#here">x</a> <a href="#own">y</a> <a href="https://a.b/c">z</a>'
    (tmp_path / "book" / "01-a.html").write_text(f'<p id="own">{links}</p>')
    (tmp_path / "book" / "02-c.html").write_text('<p id="here"><a href="01-a.html">x</a></p>')
    return tmp_path


def test_a_link_leads_to_a_page_of_the_book_or_outside(site):
    file = site / "book" / "01-a.html"
    there = (site / "book" / "02-c.html").as_uri()
    assert make_pdf.target(there + "#a%20b", file) == ("book/02-c", "a b")
    assert make_pdf.target("#own", file) == ("book/01-a", "own")
    assert make_pdf.target("https://a.b/c", file) is None
    assert make_pdf.target((site.parent / "other.html").as_uri(), file) is None


def test_places_are_named_to_which_another_page_leads(site):
    assert make_pdf.wanted(["book/01-a", "book/02-c"]) == {
        "book/01-a": ["own"],
        "book/02-c": ["here"],
    }
    assert make_pdf.wanted(["book/02-c"]) == {"book/02-c": []}


def test_a_link_between_two_parts_leads_within_the_whole(site, tmp_path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not here")
    from pypdf.annotations import Link

    def part(sheets, address=None, place=None):
        writer = pypdf.PdfWriter()
        for _ in range(sheets):
            writer.add_blank_page(100, 100)
        if address:
            writer.add_annotation(0, Link(rect=(0, 0, 9, 9), url=address))
        if place:
            writer.add_named_destination(place, sheets - 1)
        writer.add_outline_item(title="Heading#", page_number=0)
        out = io.BytesIO()
        writer.write(out)
        return out.getvalue()

    there = (site / "book" / "02-c.html").as_uri() + "#here"
    prints = [
        ("I One", "book/01-a", part(2, address=there)),
        (None, "book/02-c", part(3, place="here")),
    ]
    goal = tmp_path / "whole.pdf"
    assert make_pdf.join(prints, goal) == 5
    whole = pypdf.PdfReader(goal)
    note = whole.pages[0]["/Annots"][0].get_object()
    assert "/A" not in note
    assert (
        note["/Dest"][0].get_object().indirect_reference.idnum
        == whole.pages[4].indirect_reference.idnum
    )
    assert [entry.title for entry in whole.outline if not isinstance(entry, list)] == ["I One"]
    assert [entry.title for entry in whole.outline[1]] == ["Heading", "Heading"]

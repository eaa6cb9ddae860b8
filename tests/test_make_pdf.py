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


HEADINGS = ["10. Attention as soft lookup", "4a.7. The other rules", "Summary", "A no no"]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ("10. Attention assoft lookup#", "10. Attention as soft lookup"),
        ("Attention as softlookup", "10. Attention as soft lookup"),
        ("4a.7. 4a.7. The other rulesThe other rules", "4a.7. The other rules"),
        ("SummarySummary#", "Summary"),
        ("A no no", "A no no"),
        ("Of no page#", "Of no page"),
    ],
)
def test_a_heading_is_said_once_and_with_its_blanks(found, said):
    titles = {heading.replace(" ", ""): heading for heading in HEADINGS}
    assert make_pdf.heading(found, titles) == said


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


def test_a_page_that_is_not_printed_is_named_where_it_is_published(site):
    there = (site / "book" / "claims.html").as_uri() + "#a%20b"
    assert make_pdf.published(there, "https://a.b/c/") == "https://a.b/c/book/claims.html#a%20b"
    assert make_pdf.published(there, "") == ""
    picture = (site / "_images" / "a.svg").as_uri()
    assert make_pdf.published(picture, "https://a.b/c/") == ""
    outside = (site.parent / "other.html").as_uri()
    assert make_pdf.published(outside, "https://a.b/c/") == ""


def part(sheets, address=None, place=None):
    """A printed page with as many empty sheets, perhaps a link, perhaps a named place."""
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not here")
    from pypdf.annotations import Link

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
    return make_pdf.Print(out.getvalue(), ["Heading"])


def test_a_link_between_two_parts_leads_within_the_whole(site, tmp_path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not here")
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


@pytest.mark.parametrize("published", ["", "https://a.b/c/"])
def test_the_whole_names_no_file_of_the_machine(site, tmp_path, published):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not here")
    claims = (site / "book" / "claims.html").as_uri()
    goal = tmp_path / "whole.pdf"
    make_pdf.join([(None, "book/01-a", part(1, address=claims))], goal, published)
    notes = pypdf.PdfReader(goal).pages[0]["/Annots"]
    found = [note.get_object()["/A"]["/URI"] for note in notes]
    assert found == (["https://a.b/c/book/claims.html"] if published else [])


def test_every_sheet_has_its_number_at_its_foot(site, tmp_path):
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not here")
    goal = tmp_path / "whole.pdf"
    make_pdf.join([(None, "book/01-a", part(2)), (None, "book/02-c", part(1))], goal)
    sheets = pypdf.PdfReader(goal).pages
    assert [sheet.extract_text().strip() for sheet in sheets] == ["1", "2", "3"]

"""Letters above a glossary that lead to its first term of each."""

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def initial(term: nodes.Node) -> str:
    """The letter under which a term stands; # for a sign or a digit."""
    first = term.astext().lstrip(" (*")[:1].upper()
    return first if "A" <= first <= "Z" else "#"


def letters(glossary: nodes.Element) -> nodes.paragraph:
    """Give the first term of each letter an address; returns the links to them."""
    found: dict[str, str] = {}
    for term in glossary.findall(nodes.term):
        if (letter := initial(term)) not in found:
            found[letter] = f"letter-{'sign' if letter == '#' else letter.lower()}"
            term["ids"].append(found[letter])
    links = nodes.paragraph(classes=["glossary-letters"])
    for letter, place in sorted(found.items()):
        links += nodes.reference("", letter, refuri=f"#{place}", internal=True)
        links += nodes.Text(" ")
    return links


def add_letters(app: Sphinx, doctree: nodes.document) -> None:
    """Put the letters before each glossary of the page that has just been read."""
    for glossary in list(doctree.findall(addnodes.glossary)):
        glossary.parent.insert(glossary.parent.index(glossary), letters(glossary))


def setup(app: Sphinx) -> dict[str, Any]:
    """When a page has been read."""
    app.connect("doctree-read", add_letters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""A search over the sections of this book, and twenty questions that say how well it finds.

The first words of each section, after its title, become one vector.
They are kept as a record, so that a page can search without reading the whole book first:

    cd book
    python -m lab.embeddings.book_search --record results/book-sections.json

The record is a picture of the book on the day it was made; a section that was renamed since is
found under its old name. Where a right answer of ``QUESTIONS`` is no title any more, making the
record fails and says which.
"""

import argparse
import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mathlm.errors import DataError
from mathlm.text import split_words
from mathlm.train import write_record

HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
MARKUP = (  # what is taken out, and what stays of it
    (r"\$\$.*?\$\$( *\([\w-]+\))?", " "),
    (r"(?m)^(:{3,}|`{3,}|:\w+:|\+\+\+).*$", " "),
    (r"\{[\w-]+\}`([^`<]*)(<[^`]*>)?`", r"\1"),
    (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
    (r"[*`$\\]", " "),
)
NOT_ANSWERS = {"Exercises", "Summary", "In the package", "Project", "An open question"}
TOKENS, WORDS, SHORTEST = 64, 60, 80  # read by the model; kept of a section; characters

QUESTIONS: dict[str, tuple[str, ...]] = {  # and the sections that answer them
    "Why does the test loss rise when I train for longer?": (
        "06-initialization: When to stop",
        "06-initialization: Memorized labels",
    ),
    "remembering what was said long ago": (
        "07-sequences: Gates",
        "07-sequences: Half-lives",
        "07-sequences: A state instead of a window",
        "07-sequences: The highway, and what crosses it",
        "07-sequences: One symbol to remember",
    ),
    "How is a text cut into tokens?": (
        "08-tokenization: Byte-pair encoding",
        "08-tokenization: Cut before you merge",
        "08-tokenization: Encoding",
        "08-tokenization: One text, three alphabets",
        "08-tokenization: WordPiece: merge what belongs together",
        "08-tokenization: Unigram: all segmentations at once",
    ),
    "Why do gradients vanish in a recurrent network?": (
        "07-sequences: One factor for every step",
        "07-sequences: What follows for learning",
        "07-sequences: Powers",
    ),
    "the chance of a disease after a positive test": ("03-probability: Base rates",),
    "finding the direction in which data vary most": (
        "01-linear-algebra: Principal components: the axes of a cloud",
        "01-linear-algebra: What the leading direction is",
    ),
    "Why are the scores divided by a square root?": (
        "10-attention: Why the score is divided",
        "10-attention: The variance, with every assumption",
    ),
    "How does the model know the order of the words?": (
        "14-positional-encoding: Vectors added to the tokens",
        "14-positional-encoding: Why order must be encoded",
        "14-positional-encoding: A stack of blocks commutes with every shuffle",
        "14-positional-encoding: A causal mask tells the time",
        "10-attention: Order does not matter, and that is a problem",
    ),
    "storing keys and values so that generation is faster": (
        "20-fast-generation: Why anything can be kept",
        "20-fast-generation: Prefill, decode, rewind",
        "20-fast-generation: How large it is",
        "13-multi-head-attention: Sharing keys and values",
    ),
    "fewer bits for each weight": (
        "20-fast-generation: Rounding a weight",
        "20-fast-generation: Which weights matter",
        "21-small-updates: A base of four bits",
    ),
    "How many tokens should a model of a given size be trained on?": (
        "26-scaling-laws: Twenty tokens for each parameter",
        "26-scaling-laws: Where to spend a budget",
        "26-scaling-laws: The question, answered",
    ),
    "a model that cheats on its reward": (
        "23-reward-hacking: A blind spot",
        "23-reward-hacking: Where it turns",
        "23-reward-hacking: How to stop",
        "23-reward-hacking: Rewards that can be verified",
    ),
    "learning from pairs of answers that people compared": (
        "22-reward-models: Comparisons or ratings",
        "22-reward-models: The model",
        "22-reward-models: Why judgments",
        "22-reward-models: Whose preferences",
    ),
    "predicting words that are hidden": (
        "18-objectives: What is asked, and what may be read",
        "18-objectives: The objectives as code",
        "17-architectures: Three objectives",
    ),
    "a small model drafts and a large one checks": (
        "20-fast-generation: Many tokens at once",
        "20-fast-generation: One draft token",
        "20-fast-generation: A whole text",
    ),
    "switching units off at random during training": (
        "06-initialization: Dropout",
        "06-initialization: As an ensemble",
        "06-initialization: As noise",
        "16-transformer-backward: Dropout",
    ),
    "adapting a large model with a product of two thin matrices": (
        "21-small-updates: A product in place of a matrix",
        "01-linear-algebra: What LoRA needs",
    ),
    "duplicate documents in the training data": ("19-training-data: The same text twice",),
    "Which head copies what came after the last occurrence?": (
        "25-interpretability: Induction heads form",
        "25-interpretability: The same heads in SmolLM2",
        "25-interpretability: The shortcut",
    ),
    "words known by the company they keep": ("09-embeddings: The company of a word",),
}


class Section(NamedTuple):
    """A section of the book: its page, its title and its first words."""

    page: str
    title: str
    opening: str


def sections(folder: Path = Path()) -> list[Section]:
    """Every section of the pages of a folder that has some prose of its own."""
    found = []
    for path in sorted(folder.glob("[0-9][0-9]-*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        prose = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
        text = re.split(r"(?m)^## Exercises", "\n\n".join(prose))[0]
        heads = list(HEADING.finditer(text))
        ends = [h.start() for h in heads[1:]] + [len(text)]
        for head, end in zip(heads[1:], ends[1:], strict=True):
            title, body = plain(head.group(1)), plain(text[head.end() : end])
            if title not in NOT_ANSWERS and len(body) >= SHORTEST:
                words = f"{title}. {body}".split()[:WORDS]
                found.append(Section(path.stem, title, " ".join(words)))
    return found


def plain(text: str) -> str:
    """Markdown without its markup and its displayed equations."""
    for pattern, kept in MARKUP:
        text = re.sub(pattern, kept, text, flags=re.DOTALL)
    return " ".join(text.split())


def pack(vectors: ndarray) -> dict:
    """Vectors rounded to 255 levels, as text."""
    scale = float(np.abs(vectors).max() / 127)
    levels = np.rint(vectors / scale).astype(np.int8)
    packed = base64.b64encode(levels.tobytes()).decode()
    return {"shape": list(levels.shape), "scale": scale, "int8": packed}


def unpack(packed: Mapping) -> ndarray:
    """The vectors that :func:`pack` made, to within half a level."""
    levels = np.frombuffer(base64.b64decode(packed["int8"]), np.int8)
    return levels.reshape(packed["shape"]).astype(np.float32) * packed["scale"]


def word_vectors(texts: Sequence[str], library: Sequence[str]) -> ndarray:
    """Counts of words, times the logarithm of how rare each is in the library, to length 1.

    The products of such vectors are a search by shared words.
    """
    read = [Counter(split_words(text)) for text in library]
    often = Counter(word for words in read for word in words)
    place = {word: i for i, word in enumerate(often)}
    rarity = np.log(len(library) / np.array(list(often.values())))
    table = np.zeros((len(texts), len(place)))
    for row, text in zip(table, texts, strict=True):
        for word, count in Counter(split_words(text)).items():
            if word in place:
                row[place[word]] = count * rarity[place[word]]
    length = np.linalg.norm(table, axis=1, keepdims=True)
    return table / np.where(length > 0, length, 1)


def ranks(scores: ndarray, titles: Sequence[str]) -> list[int]:
    """Rank of the best right section for each of the ``QUESTIONS``, 1 for the first place.

    Args:
        scores: A row for each question, a column for each section.
        titles: ``page: title`` of each section.

    Raises:
        DataError: If a right answer is not among the titles.
    """
    found = []
    for row, (question, answers) in zip(scores, QUESTIONS.items(), strict=True):
        if missing := [a for a in answers if a not in titles]:
            raise DataError(f"no section {missing} for {question!r}: mend QUESTIONS")
        best = max(row[i] for i, title in enumerate(titles) if title in answers)
        found.append(int((row > best).sum()) + 1)
    return found


def build(library: Sequence[Section], embed: Callable[[Sequence[str], int], ndarray]) -> dict:
    """Vectors of a library, and the ranks of the right answers by vectors and by words."""
    openings = [section.opening for section in library]
    vectors = embed(openings, TOKENS)
    asked = embed(list(QUESTIONS), TOKENS)
    titles = [f"{s.page}: {s.title}" for s in library]
    shared = word_vectors(list(QUESTIONS), openings) @ word_vectors(openings, openings).T
    return {
        "tokens": TOKENS,
        "sections": titles,
        "vectors": pack(vectors),
        "samples": {i: openings[i] for i in range(0, len(openings), 50)},
        "ranks": {"MiniLM": ranks(asked @ vectors.T, titles), "words": ranks(shared, titles)},
    }


def minilm() -> Callable[[Sequence[str], int], ndarray]:
    """Sentence vectors of MiniLM, from texts and the number of tokens that are read of each."""
    import torch

    from mathlm.models import Bert, sentence_embeddings
    from mathlm.text import WordPiece, pretrained

    folder = pretrained.find("minilm")
    pieces, model = WordPiece.load(folder), Bert.from_pretrained(folder)

    def embed(texts: Sequence[str], tokens: int) -> ndarray:
        ids, mask = pieces.batch(texts, tokens, truncate=True)
        found = sentence_embeddings(model, torch.tensor(ids), torch.tensor(mask))
        return found.numpy()

    return embed


def main(argv: Sequence[str] | None = None) -> dict:
    """Read the book in this folder and record its vectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, help="JSON file for the vectors")
    args = parser.parse_args(argv)
    result = build(sections(), minilm())
    if args.record:
        write_record(args.record, **result)
    return result


if __name__ == "__main__":
    main()

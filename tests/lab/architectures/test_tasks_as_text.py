"""Tasks and holes as texts."""

import numpy as np
import pytest

from lab.architectures.tasks_as_text import (
    COUNTED,
    HIGH,
    LONGEST,
    SENTINELS,
    TASKS,
    encoded,
    pair,
    span_pair,
    tensors,
    vocabulary,
)
from mathlm.errors import ConfigError
from mathlm.text import numerals, restore_spans


@pytest.mark.parametrize(
    ("task", "number", "texts"),
    [
        ("to french", 42, ("to french : forty-two", "quarante-deux")),
        ("to english", 42, ("to english : quarante-deux", "forty-two")),
        ("to digits", 42, ("to digits : forty-two", "4 2")),
        ("next", 999, ("next : nine hundred and ninety-nine", "one thousand")),
    ],
)
def test_a_task_is_a_text_that_becomes_a_text(task, number, texts):
    assert pair(task, number) == texts
    assert vocabulary().decode(encoded(texts)[1]) == texts[1].replace("-", " ")


def test_no_source_is_longer_than_the_context():
    lengths = [len(encoded(pair(task, n))[0]) + 1 for task in TASKS for n in range(HIGH)]
    assert max(lengths) <= LONGEST


def test_holes_in_counting_can_be_filled_again(rng):
    words = vocabulary()
    marks = [words.index[f"<{i}>"] for i in range(SENTINELS)]
    for language in ("en", "fr"):
        source, target = span_pair(776, language, rng)
        text = restore_spans(source, target, sentinels=marks)
        counted = [numerals.spell(776 + i, language) for i in range(COUNTED)]
        assert words.decode(text) == " ".join(counted).replace("-", " ")
        assert len(source) + 1 <= LONGEST


def test_tensors_have_marks_and_padding():
    source, target = tensors([([5, 6], [7]), ([5], [7, 8])])
    assert source.tolist() == [[5, 6, 2], [5, 2, 0]]
    assert target.tolist() == [[1, 7, 2, 0], [1, 7, 8, 2]]


def test_an_unknown_task_is_refused():
    with pytest.raises(ConfigError, match="task 'to german' is not one of to french"):
        pair("to german", 4)


def test_every_language_and_prefix_is_in_the_vocabulary(rng):
    for n in rng.choice(np.arange(HIGH), 50):
        for task in TASKS:
            encoded(pair(task, int(n)))

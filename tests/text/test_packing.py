"""Documents in rows: nothing lost, nothing predicted across a border."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import number_documents, pack

METHODS = pytest.mark.parametrize("method", ["greedy", "best_fit"])
DOCUMENTS = st.lists(
    st.lists(st.integers(1, 9), min_size=1, max_size=20), min_size=1, max_size=9
)


def pairs(documents):
    """(document, token, the next one) for each token that has a next one."""
    return sorted((i, a, b) for i, d in enumerate(documents) for a, b in pairwise(d))


def packed_pairs(packed):
    counted = packed.targets != -100
    columns = (packed.documents, packed.ids, packed.targets)
    return sorted(zip(*(column[counted].tolist() for column in columns), strict=True))


def test_rows_of_the_example_by_hand():
    """[5 6 7] and [8 9] fill five of six positions; 7 and 9 have nothing to predict."""
    packed = pack([[5, 6, 7], [8, 9]], context=6)
    assert packed.ids.tolist() == [[5, 6, 7, 8, 9, 0]]
    assert packed.targets.tolist() == [[6, 7, -100, 9, -100, -100]]
    assert packed.documents.tolist() == [[0, 0, 0, 1, 1, -1]]
    assert packed.waste == 1 / 6


@METHODS
@settings(max_examples=40, deadline=None)
@given(documents=DOCUMENTS, context=st.integers(1, 12))
def test_each_token_but_the_first_of_a_document_is_a_target_once(method, documents, context):
    if max(map(len, documents)) > 1:
        packed = pack(documents, context, method=method, long="split")
        assert packed_pairs(packed) == pairs(documents)


@METHODS
def test_no_target_crosses_a_border(method, rng):
    documents = [rng.integers(1, 99, n) for n in rng.integers(1, 17, 60)]
    _, targets, numbers = pack(documents, 16, method=method)
    border = numbers[:, 1:] != numbers[:, :-1]
    assert border.any()
    assert (targets[:, :-1][border] == -100).all()
    assert (targets[:, -1] == -100).all()


@METHODS
def test_every_document_stands_in_one_piece(method, rng):
    documents = [rng.integers(1, 99, n) for n in rng.integers(1, 17, 60)]
    packed = pack(documents, 16, method=method)
    for number, document in enumerate(documents):
        row, at = np.nonzero(packed.documents == number)
        assert len(set(row)) == 1
        assert at.tolist() == list(range(at[0], at[0] + len(document)))
        assert packed.ids[row, at].tolist() == document.tolist()


def test_greedy_keeps_the_order():
    numbers = pack([[1, 2, 3], [4, 5], [6, 7, 8], [9, 9]], 5).documents
    assert numbers.tolist() == [[0, 0, 0, 1, 1], [2, 2, 2, 3, 3]]


def test_best_fit_by_hand():
    """Lengths 3 2 2 4 1 in rows of 6: 4, 3 and 2 (beside 4), then 2 and 1 beside 3."""
    documents = [[1] * 3, [2] * 2, [3] * 2, [4] * 4, [5]]
    packed = pack(documents, 6, method="best_fit")
    assert packed.documents.tolist() == [[3, 3, 3, 3, 1, 1], [0, 0, 0, 2, 2, 4]]
    assert packed.waste == 0
    assert pack(documents, 6).waste == pytest.approx(1 / 3)


def test_best_fit_wastes_no_more_than_greedy(rng):
    documents = [rng.integers(1, 99, n) for n in rng.integers(1, 65, 200)]
    waste = [pack(documents, 64, method=m).waste for m in ("greedy", "best_fit")]
    assert waste[1] < waste[0] / 3


def test_a_long_document_is_cut_only_if_asked():
    with pytest.raises(InputError, match=r"document 1 has 5 tokens, a row 4.*split"):
        pack([[1], [1, 2, 3, 4, 5]], 4)
    packed = pack([[1, 2, 3, 4, 5]], 4, long="split")
    assert packed.targets.tolist() == [[2, 3, 4, 5]]  # the fifth token is a target, and no row


def test_padding_holds_the_given_id():
    assert pack([[1, 2]], 4, pad_id=7).ids.tolist() == [[1, 2, 7, 7]]


def test_padding_of_few_bits_keeps_the_ids(unchecked):
    assert pack([[300, 2]], 4, pad_id=np.uint8(7)).ids.tolist() == [[300, 2, 7, 7]]


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ([], InputError, "no documents"),
        ([[1, 2], []], InputError, r"document 1 has shape \(0,\)"),
        ([[[1, 2]]], InputError, r"document 0 has shape \(1, 2\)"),
        ([[1.0, 2.0]], InputTypeError, "document 0 has dtype float64"),
        ([[1, 2], [3, -4]], InputError, "document 1 has id -4 at 1"),
        ([[1], [2]], DataError, "2 documents have one token each"),
    ],
)
def test_bad_documents_are_named(documents, error, message):
    with pytest.raises(error, match=message):
        pack(documents, 8)


@pytest.mark.parametrize(
    "option", [{"method": "random"}, {"long": "drop"}, {"pad_id": -1}, {"context": 0}]
)
def test_unknown_options_are_named(unchecked, option):
    with pytest.raises(InputError, match=f"{next(iter(option))}="):
        pack([[1, 2]], **{"context": 4} | option)


def test_documents_of_a_stream_are_numbered_by_their_ends():
    """The end of a document belongs to it: 7 8 end, 9 end."""
    ids = np.array([[7, 8, 0, 9, 0], [1, 2, 3, 4, 5]])
    assert number_documents(ids, 0).tolist() == [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]]

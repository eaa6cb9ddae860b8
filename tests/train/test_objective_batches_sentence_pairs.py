"""Pairs of sentences: what follows, what does not, and how a row is laid out."""

import numpy as np
import pytest
import torch

from mathlm.errors import ConfigError, DataError
from mathlm.train import SentencePairBatches

CLS, SEP, MASK = 90, 91, 92
KINDS = ("elsewhere", "same", "swapped")


def documents(count=4, sentences=6, length=2):
    """Sentence j of document i is the number 10 i + j, ``length`` times."""
    return [[[10 * i + j] * length for j in range(sentences)] for i in range(count)]


def pairs(negatives="elsewhere", **how):
    marks = {"cls_id": CLS, "sep_id": SEP, "context": 16, "batch_size": 400}
    how = {"documents": documents()} | marks | how
    return SentencePairBatches(how.pop("documents"), negatives=negatives, **how)


def first_and_second(batch):
    """The number of the sentence on each side, and whether it is said to follow."""
    return batch["ids"][:, 1], batch["ids"][:, 4], batch["follows"] == 1


def test_a_row_is_two_sentences_with_their_marks_and_segments():
    batch = pairs(documents=[[[1, 2, 3], [4, 5]]], negatives="swapped", batch_size=50)(0)
    row = batch["ids"][batch["follows"] == 1][0]
    assert row.tolist() == [CLS, 1, 2, 3, SEP, 4, 5, SEP]
    assert batch["segments"][batch["follows"] == 1][0].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert batch["mask"].all()


@pytest.mark.parametrize("negatives", KINDS)
def test_half_of_the_pairs_follow_and_those_are_next_to_each_other(negatives):
    """Of 400 fair draws, 200 ± 50 is five deviations."""
    first, second, follows = first_and_second(pairs(negatives)(0))
    assert abs(int(follows.sum()) - 200) < 50
    assert (second[follows] == first[follows] + 1).all()
    assert (second[follows] % 10 > 0).all()


def test_a_stranger_comes_from_another_document():
    first, second, follows = first_and_second(pairs("elsewhere")(0))
    assert (first // 10 != second // 10)[~follows].all()
    assert len(set((second // 10)[~follows].tolist())) == 4


def test_a_document_without_sentences_is_left_out():
    whole, first = documents(), documents(count=1)
    assert pairs(documents=[*whole, []]).sha256 == pairs(documents=whole).sha256
    batch = pairs(documents=[*whole[:2], [], *whole[2:], []])(0)
    assert torch.equal(batch["ids"], pairs(documents=whole)(0)["ids"])
    with pytest.raises(DataError, match="1 documents"):
        pairs(documents=[*first, []])


def test_a_stranger_of_the_same_document_neither_follows_nor_repeats():
    first, second, follows = first_and_second(pairs("same")(0))
    assert (first // 10 == second // 10)[~follows].all()
    distance = (second - first)[~follows]
    assert not torch.isin(distance, torch.tensor([0, 1])).any()
    assert set(distance.tolist()) == {*range(-4, 0), 2, 3, 4, 5}


def test_swapped_sentences_have_changed_places():
    first, second, follows = first_and_second(pairs("swapped")(0))
    assert (first == second + 1)[~follows].all()


def test_long_sentences_keep_what_is_next_to_the_border():
    long = [[list(range(30)), list(range(40, 70))]]
    batch = pairs("swapped", documents=long, context=11, batch_size=20)(0)
    row = batch["ids"][batch["follows"] == 1][0].tolist()
    assert row == [CLS, 26, 27, 28, 29, SEP, 40, 41, 42, 43, SEP]
    short = [[[7], list(range(40, 70))]]
    batch = pairs("swapped", documents=short, context=11, batch_size=20)(0)
    row = batch["ids"][batch["follows"] == 1][0].tolist()
    assert row == [CLS, 7, SEP, *range(40, 47), SEP]


def test_shorter_pairs_are_filled_up_and_marked():
    uneven = [[[1], [2, 3], [4, 5, 6, 7]]]
    batch = pairs("swapped", documents=uneven)(0)
    lengths = batch["mask"].sum(1)
    assert set(lengths.tolist()) == {6, 9}
    assert torch.equal(batch["mask"], torch.arange(9) < lengths[:, None])
    assert not batch["ids"][~batch["mask"]].any()


def test_marks_and_padding_are_never_hidden():
    uneven = [[[1] * 4, [2] * 9, [4] * 5]]
    hide = {"mask_id": MASK, "vocab_size": 93, "rate": 0.5}
    batch = pairs("swapped", documents=uneven, **hide)(0)
    plain = pairs("swapped", documents=uneven)(0)
    asked = batch["targets"] >= 0
    assert torch.equal(batch["targets"][asked], plain["ids"][asked])
    assert not (torch.isin(plain["ids"], torch.tensor([CLS, SEP])) & asked).any()
    assert not (asked & ~batch["mask"]).any()
    sizes = plain["mask"].sum(1) - 3
    assert asked.sum(1).tolist() == [round(0.5 * n) for n in sizes.tolist()]


def test_batches_are_a_function_of_the_seed_and_the_step():
    one, other = pairs(batch_size=8), pairs(batch_size=8)
    other(5)
    assert all(torch.equal(one(2)[k], other(2)[k]) for k in one(2))
    assert not torch.equal(one(2)["ids"], one(3)["ids"])
    assert not torch.equal(one(2)["ids"], pairs(batch_size=8, seed=1)(2)["ids"])
    again = [[b["ids"].tolist() for b in one] for _ in range(2)]
    assert again[0] == again[1]
    assert len(again[0]) == 8


def test_a_run_is_told_apart_by_its_sentences_and_choices():
    told = pairs().describe()
    assert (told["negatives"], told["context"]) == ("elsewhere", 16)
    assert "documents" not in told
    assert pairs().sha256 == pairs().sha256 != pairs(documents=documents(length=3)).sha256
    joined = [[[0, 0, 0], [1]], *documents()[1:]]
    assert (
        pairs(documents=joined).sha256
        != pairs(documents=[[[0, 0], [0, 1]], *joined[1:]]).sha256
    )


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        (
            {"negatives": "random"},
            ConfigError,
            "negatives='random' is not one of elsewhere, same",
        ),
        ({"context": 4}, ConfigError, "context=4 must be at least 5"),
        ({"batch_size": 0}, ConfigError, "batch_size=0"),
        ({"seed": -1}, ConfigError, "seed=-1"),
        ({"mask_id": MASK}, ConfigError, "mask_id and vocab_size come together"),
        ({"documents": [[[1], [2]]]}, DataError, "1 documents, 1 .* too few for .*elsewhere"),
        ({"documents": [[[1]], [[2]]]}, DataError, "2 documents, 0 of them"),
        (
            {"documents": [[[1], [2]]] * 2, "negatives": "same"},
            DataError,
            "0 of them .* negatives='same'",
        ),
        ({"documents": [[[1], []]] * 2}, DataError, "a sentence has no tokens"),
    ],
)
def test_pairs_that_make_no_sense_are_refused(how, error, says, unchecked):
    with pytest.raises(error, match=says):
        pairs(**how)


def test_documents_are_drawn_by_the_pairs_that_they_hold():
    """Of 1 + 9 pairs, the document with nine gives nine in ten of the first sentences."""
    uneven = [[[0], [1]], [[10 + j] for j in range(10)]]
    batch = pairs("swapped", documents=uneven, batch_size=1000)(0)
    share = np.mean((batch["ids"][:, 1] >= 10).tolist())
    assert abs(share - 0.9) < 5 * (0.9 * 0.1 / 1000) ** 0.5

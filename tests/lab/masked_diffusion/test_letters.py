"""Windows, batches and models of the comparison, as data."""

import torch

from lab.masked_diffusion import letters
from lab.masked_diffusion.record import unigram_bits


def test_text_and_numbers_are_the_same():
    ids = torch.from_numpy(letters.encode("to be_"))
    assert letters.decode(ids) == "to be_"
    assert int(ids[-1]) == letters.MASK


def test_a_batch_of_the_gpt_asks_for_every_letter_of_the_window():
    window = torch.tensor([[3, 1, 4]])
    batch = letters.Begin()({"ids": window}, None)
    assert batch["ids"].tolist() == [[letters.MASK, 3, 1]]
    assert batch["targets"].tolist() == [[3, 1, 4]]


def test_both_kinds_start_from_the_same_weights():
    gpt, diffusion = (letters.build(kind, 0) for kind in ("gpt", "diffusion"))
    pairs = zip(gpt.parameters(), diffusion.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_equally_frequent_letters_have_the_bits_of_their_number():
    assert unigram_bits(torch.arange(8).repeat(2, 3)) == 3.0

"""Planted faults do what their names say."""

import inspect
import math
import re
from collections import Counter

import pytest
import torch

from lab.broken_runs import faults, healthy
from lab.broken_runs.faults import FAULTS
from mathlm.train.diagnosis import loss_rules, policy_rules, preference_rules, step_rules

RULES = (loss_rules, policy_rules, preference_rules, step_rules)
TEXT = {
    "ids": torch.tensor([[5, 6, 7, 0], [8, 9, 0, 0]]),
    "targets": torch.tensor([[-100, 7, -100, -100], [9, -100, -100, -100]]),
}


def test_each_fault_has_a_name_and_is_seen_or_says_how():
    assert max(Counter((f.kind, f.name) for f in FAULTS).values()) == 1
    assert all(bool(f.shows) != bool(f.instead) for f in FAULTS)
    assert len(FAULTS) > 30
    sources = "\n".join(map(inspect.getsource, RULES))
    known = set(re.findall(r'"([^"\n]+)"', sources))
    assert set().union(*(f.shows for f in FAULTS)) <= known


@pytest.mark.parametrize(("change", "targets"), [
    (faults.inputs_as_targets, [[5, 6, 7, 0], [8, 9, 0, 0]]),
    (faults.shifted_twice, [[7, -100, -100, -100], [-100, -100, -100, -100]]),
    (faults.prompt_learned, [[6, 7, -100, -100], [9, -100, -100, -100]]),
    (faults.padding_learned, [[-100, 7, 0, -100], [9, 0, 0, -100]]),
])  # fmt: skip
def test_other_targets(change, targets):
    changed = change(TEXT, 0)
    assert changed["targets"].tolist() == targets
    assert changed["ids"] is TEXT["ids"]


def test_padding_on_the_left_leaves_the_text_as_it_is():
    moved = faults.padded_left(TEXT, 0)
    assert moved["ids"].tolist() == [[0, 5, 6, 7], [0, 0, 8, 9]]
    assert moved["targets"].tolist() == [[-100, -100, 7, -100], [-100, -100, 9, -100]]


def test_shuffled_targets_are_the_same_targets():
    shuffled = faults.shuffled_targets(TEXT, 3)["targets"]
    assert sorted(shuffled.flatten()) == sorted(TEXT["targets"].flatten())


def test_another_tokenizer_gives_other_numbers_to_the_same_bytes():
    other = faults.other_tokenizer(TEXT, 0)
    assert other["ids"][0, 2] == other["targets"][0, 1] != 7
    assert (other["targets"] == -100).equal(TEXT["targets"] == -100)


def test_one_batch_is_broken():
    assert faults.broken_text(TEXT, 149) is TEXT
    assert faults.broken_text(TEXT, 150)["ids"].shape == (2, 4)


def test_swapped_batches_are_swapped_back():
    batch = {"chosen_ids": 1, "rejected_ids": 2, "index": 3}
    assert faults.swapped_batches(batch, 0) == {
        "rejected_ids": 1, "chosen_ids": 2, "index": 3
    }  # fmt: skip


def test_random_labels_swap_whole_pairs():
    batch = {"index": torch.arange(50)}
    batch |= {"chosen_ids": torch.ones(50, 2), "rejected_ids": torch.zeros(50, 3)}
    mixed = faults.random_labels(batch, 0)
    is_swapped = mixed["chosen_ids"][:, 0] == 0
    assert 10 < is_swapped.sum() < 40
    assert mixed["rejected_ids"][:, 0].equal(is_swapped.float())


def test_without_a_mask_the_last_token_reaches_the_first():
    torch.set_default_dtype(torch.float32)
    model = healthy.new_model(0).eval()
    ids = torch.tensor([[1, 2, 3]]), torch.tensor([[1, 2, 4]])
    for whole, equal in ((model, True), (faults.SeesAll(model), False)):
        assert whole(ids[0])[0, 0].equal(whole(ids[1])[0, 0]) is equal


@pytest.fixture
def pair_of():
    """A small policy and one batch of pairs without a reference."""
    torch.set_default_dtype(torch.float32)
    return healthy.new_model(0), healthy.pair_batches(False)(0)


def test_a_moving_reference_gives_log_2_and_a_gradient(pair_of):
    model, batch = pair_of
    loss, count = faults.moving_reference(model, batch)
    loss.backward()
    assert loss.item() / count == pytest.approx(math.log(2))
    assert model.head.weight.grad.abs().sum() > 0


def test_rewards_that_teach_another_thing():
    assert faults.nothing(None, ["a", "b"]) == [0.0, 0.0]
    assert faults.long_answers(None, ["a" * 12, ""]) == [1.0, 0.0]

"""Batches of pairs and of unpaired answers, and what a reference says of them, once."""

import pytest
import torch
from align.toy_chats import CHATS, END, NAMED, TOKENIZER, V, chat, model
from align.toy_pairs import PAIRS, UNPAIRED, batches, encoded, unpaired

from mathlm.align import PairBatches, Reference, UnpairedBatches, target_log_probabilities
from mathlm.errors import ConfigError
from mathlm.text import Unpaired

SIDES = ("chosen", "rejected")


def sums(network, batch, side):
    rows = {"ids": batch[f"{side}_ids"], "targets": batch[f"{side}_targets"]}
    return target_log_probabilities(network, rows).sum(1)


@pytest.mark.parametrize("side", SIDES)
def test_each_target_is_the_token_behind_its_own_where_it_is_asked(side):
    batch = PairBatches(encoded(), 99).batch(torch.arange(len(PAIRS)).numpy())
    for i, one in enumerate(getattr(encoded(), side)):
        ids, targets = batch[f"{side}_ids"][i].tolist(), batch[f"{side}_targets"][i].tolist()
        expected = [
            (int(a), int(b) if asked else -100)
            for a, b, asked in zip(one.ids, one.ids[1:], one.mask[1:], strict=False)
        ]
        n = len(expected)
        assert list(zip(ids, targets, strict=True))[:n] == expected
        assert set(targets[n:]) <= {-100}


def test_every_epoch_has_every_pair_once_in_an_order_of_its_own():
    data = PairBatches(encoded(PAIRS * 2), 5)
    n = data.steps_per_epoch
    orders = [
        [i for s in range(e * n, e * n + n) for i in data(s)["index"].tolist()] for e in (0, 1)
    ]
    assert [sorted(order) for order in orders] == [list(range(data.rows))] * 2
    assert orders[0] != orders[1]
    assert [i for batch in data for i in batch["index"].tolist()] == list(range(data.rows))


def test_the_reference_of_each_pair_does_not_depend_on_its_batch():
    """Read among all, in batches of two and alone; 1e-12."""
    network = model(position="learned", dropout=0.3).train()
    whole = next(iter(batches(network)))
    for i, one in enumerate(PAIRS):
        alone = next(iter(batches(network, 2, [one])))
        for side in SIDES:
            name = f"{side}_logp_ref"
            assert alone[name].item() == pytest.approx(whole[name][i].item(), abs=1e-12)
            expected = sums(network, alone, side).item()
            assert alone[name].item() == pytest.approx(expected, abs=1e-12)


def test_in_the_order_of_an_epoch_each_pair_has_its_own_reference():
    network = model(n_layers=1)
    pairs, answers = batches(network, 3), UnpairedBatches(unpaired(), 5)
    for step in (1, 3):
        batch = pairs(step)
        for side in SIDES:
            expected = sums(network, batch, side)
            torch.testing.assert_close(batch[f"{side}_logp_ref"], expected, rtol=0, atol=1e-12)
    batch = answers.with_reference(Reference.of(network))(1)
    expected = target_log_probabilities(network, batch).sum(1)
    torch.testing.assert_close(batch["logp_ref"], expected, rtol=0, atol=1e-12)


def test_where_no_other_answer_fits_nothing_is_asked_behind_the_prompt():
    given = [
        Unpaired(prompt=tuple(chat("abcd")), completion="a", label=True),
        Unpaired(prompt=tuple(chat("a")), completion="bcd", label=True),
    ]
    data = UnpairedBatches(unpaired(given, 10), 2).with_reference(Reference(model(n_layers=1)))
    batch = next(iter(data))
    assert (batch["kl_targets"] != -100).any(1).tolist() == [False, True]
    assert batch["kl_logp_ref"][0] == 0 > batch["kl_logp_ref"][1]


def test_the_reference_is_asked_once(monkeypatch):
    calls = []
    read = lambda *a, **k: calls.append(1) or target_log_probabilities(*a, **k)  # noqa: E731
    data = PairBatches(encoded(), 2).with_reference(Reference(model(), read=read))
    asked = len(calls)
    for step in range(9):
        data(step)
    assert len(calls) == asked > 0


@torch.no_grad()
@pytest.mark.parametrize("side", SIDES)
def test_an_answer_costs_its_own_tokens_and_its_end_by_a_loop(side):
    """Each token looked up behind what stands before it, in the pair read alone."""
    network = model().eval()
    found = sums(network, next(iter(PairBatches(encoded(), 99, pad_id=END))), side)
    for given, logp in zip(PAIRS, found.tolist(), strict=True):
        prompt = NAMED.encode(given.prompt, TOKENIZER, answer=True).ids.tolist()
        text, total = [*prompt], 0.0
        for token in (*TOKENIZER.encode(getattr(given, side)), END):
            total += network(torch.tensor([text]))[0, -1].log_softmax(-1)[token].item()
            text.append(token)
        assert logp == pytest.approx(total, abs=1e-12)


def test_neither_padding_nor_labels_at_the_prompt_change_a_log_probability():
    network = model()
    rows = [next(iter(PairBatches(encoded(), 99, pad_id=pad))) for pad in (0, V - 1)]
    for side in SIDES:
        a, b = (sums(network, batch, side) for batch in rows)
        assert torch.equal(a, b)


def test_without_a_reference_there_is_nothing_of_it():
    assert set(PairBatches(encoded(), 2)(0)) == {
        "index",
        *(f"{side}_{key}" for side in SIDES for key in ("ids", "targets")),
    }


def test_the_hashes_are_of_the_pairs_and_of_the_reference():
    plain, first, second = (
        PairBatches(encoded(), 2),
        batches(model(), 2),
        batches(model(seed=1), 2),
    )
    assert plain.sha256 == [encoded().sha256]
    assert first.sha256[0] == plain.sha256[0]
    assert first.sha256[1] != second.sha256[1]


def test_the_description_is_data():
    expected = {"rows": len(PAIRS), "batch_size": 2, "pad_id": 1, "seed": 5}
    assert PairBatches(encoded(), 2, pad_id=1, seed=5).describe() == expected
    assert batches(model(), 2, pad_id=1, seed=5).describe() == expected


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"batch_size": 0}, "batch_size=0 must be positive"),
        ({"pad_id": -100}, "pad_id=-100 must not be negative"),
        ({"seed": -1}, "seed=-1 must not be negative"),
    ],
    ids=str,
)
def test_options_out_of_range_are_refused(options, match):
    for kind, given in ((PairBatches, encoded()), (UnpairedBatches, unpaired())):
        with pytest.raises(ConfigError, match=match):
            kind(given, **({"batch_size": 2} | options))


def test_unpaired_batches_have_labels_and_texts_behind_other_prompts():
    network = model()
    data = UnpairedBatches(unpaired(), 99).with_reference(Reference.of(network))
    batch = next(iter(data))
    assert batch["desirable"].tolist() == [answer.label for answer in UNPAIRED]
    logp = target_log_probabilities(network, batch).sum(1)
    torch.testing.assert_close(logp, batch["logp_ref"], rtol=0, atol=1e-12)
    other = {"ids": batch["kl_ids"], "targets": batch["kl_targets"]}
    logp = target_log_probabilities(network, other).sum(1)
    torch.testing.assert_close(logp, batch["kl_logp_ref"], rtol=0, atol=1e-12)


def test_unpaired_answers_of_which_none_fits_another_prompt_are_refused():
    with pytest.raises(ConfigError, match="of 1 unpaired answers none fits behind another"):
        UnpairedBatches(unpaired(UNPAIRED[:1]), 2)


def test_the_toy_has_more_than_one_length():
    assert len({len(one) for one in encoded().chosen}) > 2 < len(CHATS)

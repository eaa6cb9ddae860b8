"""Batches of conversations: nothing lost, nothing leaks, and packing changes no number."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from align.toy_chats import CHATS, END, V, chat, encoded, model

from mathlm.align import ChatBatches, Encoded
from mathlm.errors import CheckpointMismatchError, ConfigError, InputError
from mathlm.optim import AdamW
from mathlm.train import Trainer, TrainerConfig, next_token, read_causal

BOTH = pytest.mark.parametrize("packed", [True, False])
ALONE = [ChatBatches(encoded([turns]), 1, packed=False)(0) for turns in CHATS]


def whole(packed, **options):
    """Every row of the toy conversations in one batch."""
    data = ChatBatches(encoded(), 99, packed=packed, **options)
    [batch] = list(data)
    return batch


def loss_and_gradient(network, batches):
    network.zero_grad()
    losses = [next_token(network, batch) for batch in batches]
    loss, count = sum(loss for loss, _ in losses), sum(count for _, count in losses)
    (loss / count).backward()
    return loss.detach(), count, torch.cat([p.grad.flatten() for p in network.parameters()])


def rows_of(batch, index):
    """A batch of some of its rows."""
    return {name: tensor[index] for name, tensor in batch.items()}


@BOTH
def test_what_is_asked_is_exactly_what_is_learned(packed):
    """Each target is the token behind its own, in the same conversation, where the mask is."""
    expected = [
        (int(a), int(b))
        for one in encoded().chats
        for a, b, learn in zip(one.ids, one.ids[1:], one.mask[1:], strict=False)
        if learn
    ]
    batch = whole(packed)
    asked = batch["targets"] != -100
    pairs = zip(batch["ids"][asked].tolist(), batch["targets"][asked].tolist(), strict=True)
    assert sorted(pairs) == sorted(expected)
    assert len(expected) == encoded().targets


def test_packed_rows_hold_each_conversation_in_one_piece():
    batch = whole(packed=True)
    for number, one in enumerate(encoded().chats):
        place = batch["documents"] == number
        assert batch["ids"][place].tolist() == one.ids.tolist()
        assert len({row for row, _ in place.nonzero().tolist()}) == 1
    assert len(batch["ids"]) < len(CHATS)


@pytest.mark.parametrize("position", ["rope", "learned"])
def test_packing_changes_neither_loss_nor_gradient(position):
    network = model(position=position)
    padded, packed, alone = (
        loss_and_gradient(network, batches)
        for batches in ([whole(False)], [whole(True)], ALONE)
    )
    for loss, count, gradient in (packed, alone):
        assert count == padded[1] == encoded().targets
        torch.testing.assert_close(loss, padded[0], rtol=1e-12, atol=0)
        torch.testing.assert_close(gradient, padded[2], rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("packed", "parts"), [(True, 2), (False, 3), (False, 7)])
def test_the_gradient_does_not_depend_on_how_a_batch_is_cut(packed, parts):
    """Answers have from 2 to 7 targets: a mean of means would differ."""
    network, batch = model(n_layers=1), whole(packed)
    cut = [rows_of(batch, i) for i in torch.arange(len(batch["ids"])).chunk(parts)]
    assert len(cut) == parts
    full = loss_and_gradient(network, [batch])
    some = loss_and_gradient(network, cut)
    assert some[1] == full[1]
    torch.testing.assert_close(some[0], full[0], rtol=1e-12, atol=0)
    torch.testing.assert_close(some[2], full[2], rtol=1e-10, atol=1e-14)


def test_a_conversation_neither_sees_nor_teaches_those_that_share_its_row():
    """∂loss_B/∂embedding_A is exactly 0 for every A that is not B."""
    network, batch = model(), whole(packed=True)
    found = []
    network.token_embedding.register_forward_hook(lambda *call: found.append(call[2]))
    for number in range(len(CHATS)):
        inside = batch["documents"] == number
        own = batch | {"targets": torch.where(inside, batch["targets"], -100)}
        loss = next_token(network, own)[0]
        gradient = torch.autograd.grad(loss, found[-1])[0]
        assert gradient[~inside].abs().max() == 0
        assert gradient[inside].abs().max() > 0


def test_a_packed_row_holds_several_conversations():
    documents = whole(packed=True)["documents"]
    assert max(row[row >= 0].unique().numel() for row in documents) > 1


def test_the_logits_of_a_packed_conversation_are_those_of_it_alone():
    network, batch = model(), whole(packed=True)
    logits = read_causal(network, batch)
    for number, one in enumerate(encoded().chats):
        alone = network(torch.from_numpy(one.ids)[None])[0]
        torch.testing.assert_close(
            logits[batch["documents"] == number], alone, rtol=0, atol=1e-12
        )


@BOTH
def test_the_id_at_padding_changes_nothing(packed):
    """Bit for bit, the end of a turn as padding among them."""
    results = [
        loss_and_gradient(model(n_layers=1), [whole(packed, pad_id=pad)])
        for pad in (0, END, V - 1)
    ]
    for loss, count, gradient in results[1:]:
        assert count == results[0][1]
        assert torch.equal(loss, results[0][0])
        assert torch.equal(gradient, results[0][2])


@BOTH
def test_the_end_of_a_turn_is_asked_for_where_it_also_is_the_padding(packed):
    batch = whole(packed, pad_id=END)
    answers = sum(turn.role == "assistant" for turns in CHATS for turn in turns)
    assert int((batch["targets"] == END).sum()) == answers
    padding = batch["documents"] < 0 if packed else None
    if packed:
        assert (batch["targets"][padding] == -100).all()


def test_rows_of_one_conversation_are_as_wide_as_the_longest_of_their_batch():
    data = ChatBatches(encoded(), 2, packed=False)
    for batch in data:
        longest = max(len(encoded().chats[i]) for i in batch["index"].tolist())
        assert batch["ids"].shape == batch["targets"].shape == (len(batch["index"]), longest)


@BOTH
def test_the_same_seed_and_step_give_the_same_batch(packed):
    first, second = (ChatBatches(encoded(), 2, packed=packed, seed=3) for _ in range(2))
    for step in (7, 0, 3, 7):
        for name, tensor in first(step).items():
            assert torch.equal(tensor, second(step)[name])


@BOTH
def test_each_epoch_has_every_row_once_in_an_order_of_its_own(packed):
    data = ChatBatches(encoded(CHATS * 3), 4, packed=packed)
    n = data.steps_per_epoch
    orders = [
        [i for s in range(e * n, e * n + n) for i in data(s)["index"].tolist()] for e in (0, 1)
    ]
    assert [sorted(order) for order in orders] == [list(range(data.rows))] * 2
    assert orders[0] != orders[1]
    assert [i for batch in data for i in batch["index"].tolist()] == list(range(data.rows))


def test_another_seed_is_another_order():
    orders = {
        tuple(ChatBatches(encoded(CHATS * 3), 99, seed=seed)(0)["index"].tolist())
        for seed in range(4)
    }
    assert len(orders) > 1


def test_a_batch_that_is_changed_does_not_change_the_next_one():
    data = ChatBatches(encoded(), 2)
    data(0)["ids"].zero_()
    assert torch.equal(data(0)["ids"], ChatBatches(encoded(), 2)(0)["ids"])


@BOTH
def test_waste_is_the_share_of_padding(packed):
    data = ChatBatches(encoded(), 3, packed=packed)
    places = sum(batch["ids"].numel() for batch in data)
    assert data.waste == pytest.approx(1 - encoded().tokens / places)


def test_rows_may_be_longer_than_the_context_of_the_encoding():
    assert ChatBatches(encoded(), 9, context=40)(0)["ids"].shape[1] == 40


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"batch_size": 0}, "batch_size=0 must be positive"),
        ({"context": 0}, "context=0 must be positive"),
        ({"pad_id": -100}, "pad_id=-100 must not be negative"),
        ({"seed": -1}, "seed=-1 must not be negative"),
        ({"context": 12}, r"a conversation has 16 tokens, a row 12: encode .* context=12"),
    ],
)
@BOTH
def test_options_out_of_range_are_refused(packed, options, match):
    with pytest.raises(InputError, match=match):
        ChatBatches(encoded(), **({"batch_size": 2, "packed": packed} | options))


def test_batches_of_nothing_are_refused():
    nothing = Encoded(chats=[], index=[], dropped={}, mismatches=0, context=9)
    with pytest.raises(ConfigError, match="there are no conversations"):
        ChatBatches(nothing, 1)


def trainer(folder, conversations=CHATS):
    data, network = ChatBatches(encoded(conversations), 2), model(n_layers=1)
    config = TrainerConfig(steps=2, folder=folder, save_every=1, keep=None)
    return Trainer(network, next_token, data, AdamW(network.parameters(), lr=0.01), config)


def test_a_run_is_resumed_with_its_own_data_only(tmp_path):
    unbroken, again = trainer(tmp_path), trainer(tmp_path)
    unbroken.fit()
    assert again.resume(tmp_path / "step_000001") == 1
    again.fit()
    for a, b in zip(unbroken.model.parameters(), again.model.parameters(), strict=True):
        assert torch.equal(a, b)
    with pytest.raises(CheckpointMismatchError, match="data_sha256"):
        trainer(tmp_path, [*CHATS[:-1], chat("d", "dde", "b", "bb")]).resume()


@pytest.mark.parametrize(
    "change",
    [{"batch_size": 3}, {"packed": False}, {"context": 30}, {"seed": 1}, {"pad_id": 1}],
)
def test_what_changes_the_batches_changes_their_description(change):
    own = ChatBatches(encoded(), batch_size=2)
    other = ChatBatches(encoded(), **({"batch_size": 2} | change))
    assert own.describe() != other.describe()


def test_the_description_is_data():
    data = ChatBatches(encoded(), 2, seed=5)
    assert data.describe() == {
        "chats": len(CHATS),
        "tokens": encoded().tokens,
        "batch_size": 2,
        "packed": True,
        "context": 24,
        "pad_id": 0,
        "seed": 5,
    }
    assert data.sha256 == [encoded().sha256]


@pytest.mark.slow
def test_a_model_that_was_padded_with_the_end_learns_to_end():
    """200 steps; then at least 99 of 100 greedy answers end, long before they must."""
    folder = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "align.toy_answers"],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{folder.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    ended, words = map(int, done.stdout.split())
    assert words > 60
    assert ended >= 0.99 * words

"""Windows changed for an objective: what is asked for, and that the step decides it all."""

import numpy as np
import pytest
import torch

from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import SGD
from mathlm.text import restore_spans
from mathlm.train import (
    CorruptedWindows,
    CutSpans,
    DrawPrefix,
    MaskLevels,
    MaskTokens,
    TokenWindows,
    Trainer,
    TrainerConfig,
    prefix_token,
)

V, T, MASK, BEGIN = 30, 8, 20, 21
SENTINELS = (22, 23, 24, 25)
CHANGES = {
    "mask": MaskTokens(mask_id=MASK, vocab_size=V, special=(BEGIN, *SENTINELS), rate=0.25),
    "spans": CutSpans(sentinels=SENTINELS, begin=BEGIN, rate=0.4),
    "prefix": DrawPrefix(),
    "levels": MaskLevels(mask_id=MASK),
}
EVERY = pytest.mark.parametrize("name", CHANGES)


def corrupted(name, tokens=45, seed=0, batch=4):
    text = np.random.default_rng(1).integers(0, 20, tokens)
    windows = TokenWindows(text, context=T, batch_size=batch, vocab_size=V)
    return CorruptedWindows(windows, CHANGES[name], seed=seed)


def same(one, other):
    return set(one) == set(other) and all(torch.equal(one[k], other[k]) for k in one)


@EVERY
def test_a_batch_is_a_function_of_the_seed_and_the_step(name):
    data = corrupted(name)
    later = [data(step) for step in (3, 0)]
    assert same(later[0], corrupted(name)(3))
    assert same(later[1], data(0))
    epoch = data.windows.steps_per_epoch
    assert not same(data(0), data(epoch))
    other = corrupted(name, seed=1)(0)
    assert torch.equal(other["index"], data(0)["index"])
    assert not same(other, data(0))


@EVERY
def test_an_evaluation_is_the_same_every_time_and_sees_each_window_once(name):
    data = corrupted(name)
    first, second = list(data), list(data)
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    assert torch.cat([batch["index"] for batch in first]).tolist() == list(range(6))


@EVERY
def test_a_run_is_told_apart_by_its_change(name):
    data = corrupted(name)
    assert data.sha256 == data.windows.sha256
    assert data.describe()["change"]["class"] == type(CHANGES[name]).__name__
    assert data.describe()["tokens"] == 45
    assert data.describe() != corrupted(name, seed=1).describe()


@pytest.mark.parametrize("tokens", [41, 44, 48, 49])
def test_hidden_tokens_are_those_that_are_asked_for(tokens):
    """A quarter of each window of eight; of a last one of n, round(n / 4), at least one."""
    data = corrupted("mask", tokens)
    text = data.windows.ids
    for batch in data:
        asked, real = batch["targets"] >= 0, batch["mask"]
        place = (batch["index"][:, None] * T + torch.arange(T)).clamp(max=tokens - 1)
        assert torch.equal(batch["targets"][asked], torch.from_numpy(text)[place][asked])
        assert torch.equal(
            batch["ids"][~asked & real], torch.from_numpy(text)[place][~asked & real]
        )
        wanted = [max(1, round(n / 4)) for n in real.sum(1).tolist()]
        assert (asked & real).sum(1).tolist() == asked.sum(1).tolist() == wanted


def test_the_last_token_of_a_text_may_be_hidden_and_what_fills_up_may_not():
    """45 tokens: the last window is five long, and the fifth, which is no input's target of
    the next-token objective, is hidden in some step."""
    batches = [b for step in range(40) for b in [corrupted("mask")(step)] if 5 in b["index"]]
    rows = torch.stack([b["targets"][b["index"] == 5][0] >= 0 for b in batches])
    assert rows[:, 4].any()
    assert not rows[:, 5:].any()


@pytest.mark.parametrize("tokens", [41, 45, 49])
def test_source_and_target_together_are_the_text(tokens):
    data = corrupted("spans", tokens)
    for batch in data:
        for i, index in enumerate(batch["index"].tolist()):
            source = batch["source"][i][batch["source_mask"][i]].numpy()
            target = batch["targets"][i][batch["targets"][i] >= 0].numpy()
            text = restore_spans(source, target, sentinels=SENTINELS)
            assert text.tolist() == data.windows.ids[index * T : index * T + T].tolist()


def test_the_decoder_reads_what_it_was_to_say_one_step_later():
    batch = corrupted("spans")(0)
    assert (batch["ids"][:, 0] == BEGIN).all()
    said = batch["targets"][:, :-1]
    assert torch.equal(batch["ids"][:, 1:], said.clamp(min=0))


def test_what_is_behind_a_prefix_is_asked_for_and_nothing_else():
    for batch in corrupted("prefix"):
        place = torch.arange(1, T + 1)
        inside = place < batch["prefix"][:, None]
        first = (batch["index"][:, None] * T + place) < 45
        assert torch.equal(batch["targets"] >= 0, ~inside & first)
        assert (batch["targets"] >= 0).any(1).all()


def test_every_length_of_a_prefix_is_equally_likely():
    """1 … 8 of 8, in 250 epochs of six windows, five of them full: 1,250 draws."""
    data, counts = corrupted("prefix", batch=6), torch.zeros(T)
    for step in range(250):
        batch = data(step)
        counts += torch.bincount(batch["prefix"][batch["index"] < 5] - 1, minlength=T)
    assert counts.sum() == 1250
    assert ((counts - 1250 / 8).abs() < 5 * (1250 / 8 * 7 / 8) ** 0.5).all()


def test_the_trainer_takes_such_data():
    model = GPT(GPTConfig(vocab_size=V, context=T, d_model=8, n_layers=1, n_heads=2))
    data = corrupted("prefix")
    config = TrainerConfig(steps=3, micro_batches=2)
    trainer = Trainer(model, prefix_token, data, SGD(model.parameters(), lr=0.1), config, data)
    history = trainer.fit()
    assert len(history) == 3
    assert trainer.describe()["data"]["change"]["class"] == "DrawPrefix"


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed=-1 must not be negative"):
        corrupted("mask", seed=-1)


def test_masks_at_levels_keep_the_text_and_ask_for_what_is_hidden():
    data = corrupted("levels")
    for plain, batch in zip(data.windows, data, strict=True):
        hidden = batch["targets"] != -100
        assert torch.equal(torch.where(hidden, batch["targets"], batch["ids"]), plain["ids"])
        assert torch.equal(hidden, (batch["ids"] == MASK) & batch["mask"])
        assert batch["levels"].tolist() == (hidden.sum(1) / batch["mask"].sum(1)).tolist()
        assert (hidden.sum(1) >= 1).all()
        assert (batch["levels"].diff() >= 0).all() or not batch["mask"].all()


def test_levels_may_be_independent():
    change = MaskLevels(mask_id=MASK, stratified=False, exact=False)
    batch = {"ids": torch.zeros(9, 2, dtype=torch.int64), "mask": torch.ones(9, 2).bool()}
    levels = change(batch, np.random.default_rng(0))["levels"]
    assert len(set((levels * 9).ceil().tolist())) < 9

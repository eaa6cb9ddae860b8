"""Old text among new data."""

import pytest
import torch
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer

from mathlm.adapt import Replay
from mathlm.errors import ConfigError, InputError

OLD = [(3 * i + i // 5) % 11 for i in range(300)]


def new_rows(rows, length=8, **more):
    """Batches of so many rows of ones."""
    batch = {"ids": torch.ones(rows, length, dtype=torch.int64)}
    batch["targets"] = batch["ids"] + 1
    return lambda step: batch | more


def old_text(batch_size=4, context=8):
    return tiny_data(context=context, batch_size=batch_size, ids=OLD)


@pytest.mark.parametrize(("share", "rows"), [(0.1, 9), (0.25, 3), (0.3, 7), (0.6, 5)])
def test_the_share_of_old_rows_is_the_one_asked_for(share, rows):
    """Over t steps n differs from t r B by less than one row, for each seed."""
    for seed in range(4):
        replay = Replay(new_rows(rows), old_text(), share, seed)
        sizes = [len(replay(step)["ids"]) for step in range(30)]
        old = sum(sizes) - 30 * rows
        assert abs(old - 30 * rows * share / (1 - share)) < 1


def test_new_rows_come_first_and_old_ones_are_those_of_the_text():
    replay, old = Replay(new_rows(4), old_text(), 0.5), old_text()
    for step in range(5):
        batch = replay(step)
        for name, filling in (("ids", 1), ("targets", 2)):
            assert (batch[name][:4] == filling).all()
            assert torch.equal(batch[name][4:], old(step)[name])


def test_a_small_batch_of_old_text_is_continued_by_the_next():
    """6 rows are needed and a batch has 4: all of step 2 and two rows of step 3."""
    batch, old = Replay(new_rows(6), old_text(), 0.5)(2), old_text()
    expected = torch.cat([old(2)["ids"], old(3)["ids"][:2]])
    assert torch.equal(batch["ids"][6:], expected)


def test_without_a_share_the_new_data_is_left_as_it_is():
    data = tiny_data()
    batch, plain = Replay(data, old_text(), 0)(3), data(3)
    assert all(torch.equal(batch[name], plain[name]) for name in plain)


def test_a_batch_depends_on_seed_and_step_alone():
    one, same = (Replay(new_rows(3), old_text(), 0.2, seed=5) for _ in range(2))
    assert [len(one(s)["ids"]) for s in (4, 1, 9)] == [len(same(s)["ids"]) for s in (4, 1, 9)]
    seeds = {tuple(Replay(new_rows(3), old_text(), 0.2, k).rows(s, 3) for s in range(4))
             for k in range(20)}  # fmt: skip
    assert len(seeds) > 1


@pytest.mark.parametrize(("new", "old"), [(5, 8), (8, 5)])
def test_shorter_rows_are_filled_behind_their_end(new, old):
    batch = Replay(new_rows(4, new), old_text(context=old), 0.5)(0)
    short = slice(0, 4) if new < old else slice(4, 8)
    assert batch["ids"].shape == (8, 8)
    assert (batch["ids"][short, 5:] == 0).all()
    assert (batch["targets"][short, 5:] == -100).all()


def test_the_loss_is_the_sum_of_both_losses():
    """Old windows beside packed rows: each loss apart, then of the joint batch."""
    model, data = tiny_model(dropout=0.0), new_rows(4, 5)
    trainer = tiny_trainer(model, data)
    both = Replay(data, old_text(), 0.5)(0)
    parts = [trainer.loss_of(b) for b in (data(0), old_text()(0))]
    loss, count = trainer.loss_of(both)
    assert count == sum(n for _, n in parts) == 4 * 5 + 4 * 8
    torch.testing.assert_close(loss, parts[0][0] + parts[1][0], rtol=1e-12, atol=0)


def test_a_row_without_documents_is_one_document():
    documents = torch.tensor([[0, 0, 1, 1, -1]]).expand(4, 5)
    batch = Replay(new_rows(4, 5, documents=documents), old_text(), 0.5)(0)
    assert torch.equal(batch["documents"][:4, :5], documents)
    assert (batch["documents"][:4, 5:] == -1).all()
    assert (batch["documents"][4:] == 0).all()


def test_old_samples_have_numbers_of_their_own():
    data = tiny_data(batch_size=4)
    index = Replay(data, old_text(), 0.5)(0)["index"]
    assert index.tolist() == [*data(0)["index"].tolist(), -1, -2, -3, -4]


def test_what_only_one_of_both_has_is_refused():
    with pytest.raises(InputError, match=r"the old text has no 'prefix'"):
        Replay(new_rows(4, prefix=torch.ones(4, dtype=torch.int64)), old_text(), 0.5)(0)


@pytest.mark.parametrize("share", [-0.1, 1, 1.5, float("nan")])
def test_a_share_outside_its_range_is_refused(share):
    with pytest.raises(ConfigError, match=rf"share={share} must lie in \[0, 1\)"):
        Replay(tiny_data(), old_text(), share)


def test_a_negative_seed_is_refused():
    with pytest.raises(ConfigError, match="seed=-1 must not be negative"):
        Replay(tiny_data(), old_text(), 0.5, seed=-1)


def test_a_run_is_not_resumed_with_another_old_text(tmp_path):
    def run(old, share=0.3):
        return tiny_trainer(data=Replay(tiny_data(), old, share), steps=2, folder=tmp_path)

    run(old_text()).fit()
    assert run(old_text()).resume() == 2
    with pytest.raises(ValueError, match="data_sha256"):
        run(tiny_data(ids=OLD[::-1])).resume()
    with pytest.raises(ValueError, match=r"data.replay_share was 0.3, is 0.4"):
        run(old_text(), 0.4).resume()

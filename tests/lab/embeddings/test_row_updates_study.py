import numpy as np
import pytest
import torch

from lab.embeddings import row_updates_study
from lab.embeddings.row_updates import coasting_factor, idle_adam_steps
from lab.embeddings.row_updates_study import DECAY, MOMENTUM, OPTIMIZERS, follow
from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig

ROWS, EARLY, LATE = 6, torch.tensor([0, 1, 1]), torch.tensor([2, 1])
STOPS = [EARLY] * 40 + [LATE] * 30  # row 0 until step 40, row 1 always, 2 from then, 3-5 never
NEVER, STOPPED = slice(3, 6), slice(40, None)


@pytest.fixture(scope="module")
def runs():
    return {name: follow(name, STOPS, ROWS) for name in OPTIMIZERS}


def test_record_says_which_rows_a_batch_held(runs):
    looked_up = runs["SGD"].looked_up
    assert looked_up[0].tolist() == [True, True, False, False, False, False]
    assert looked_up[40].tolist() == [False, True, True, False, False, False]


@pytest.mark.parametrize("name", ["SGD", "SparseAdam"])
def test_only_looked_up_rows_move(name, runs):
    np.testing.assert_array_equal(runs[name].moved > 0, runs[name].looked_up)


@pytest.mark.parametrize("name", ["SGD with momentum", "Adam"])
def test_a_memory_of_gradients_moves_a_row_on_but_not_before_its_first(name, runs):
    moved = runs[name].moved > 0
    assert moved[:, :2].all()
    assert moved[:, 2].tolist() == [False] * 40 + [True] * 30
    assert not moved[:, NEVER].any()


def test_momentum_decays_a_row_s_steps_geometrically(runs):
    moved = runs["SGD with momentum"].moved[39:, 0]
    expected = moved[0] * MOMENTUM ** np.arange(len(moved))
    np.testing.assert_allclose(moved, expected, rtol=1e-9)


def test_adam_s_idle_steps_are_those_of_its_stale_moments(runs):
    """m and v of row 0 after step 40 from their definition, by its recorded gradients."""
    tables = runs["Adam"].tables
    target = torch.randn(2, ROWS, 8, generator=torch.Generator().manual_seed(0))[1].numpy()
    gradients = (tables[:40, 0] - target[0]) / 3  # one id of three is row 0
    age = np.arange(39, -1, -1)[:, None]
    m, v = ((1 - b) * (b**age * gradients**i).sum(0) for i, b in ((1, 0.9), (2, 0.999)))
    idle = idle_adam_steps(m, v, 30, t=40, lr=0.01)
    np.testing.assert_allclose(np.diff(tables[40:, 0], axis=0), idle, rtol=1e-6, atol=1e-13)


@pytest.mark.parametrize("name", ["AdamW", "SGD with weight decay"])
def test_decay_shrinks_rows_that_nobody_ever_looked_up(name, runs):
    tables = runs[name].tables[:, NEVER]
    expected = tables[0] * ((1 - 0.01 * DECAY) ** np.arange(71))[:, None, None]
    np.testing.assert_allclose(tables, expected, rtol=1e-12)


def test_sgd_steps_against_the_gradient_of_the_rows_that_it_read(runs):
    """Row 1 stands at two of three places: its gradient is 2/3 of what it is away by."""
    before, after = runs["SGD"].tables[:2]
    target = torch.randn(2, ROWS, 8, generator=torch.Generator().manual_seed(0))[1].numpy()
    away = 0.01 * (before - target)
    expected = before - np.array([1, 2, 0, 0, 0, 0])[:, None] / 3 * away
    np.testing.assert_allclose(after, expected, rtol=1e-12)


def test_distance_from_the_start_is_that_of_the_tables(runs):
    run = runs["AdamW"]
    expected = np.sqrt(((run.tables[-1] - run.tables[0]) ** 2).sum(1))
    np.testing.assert_allclose(run.from_start[-1], expected, rtol=1e-12)
    np.testing.assert_allclose(run.from_start[0], run.moved[0], rtol=1e-12)


def test_a_row_first_seen_late_coasts_for_nine_of_its_steps():
    """One gradient g, late: m = 0.1 g, v = 0.001 g², so it steps by √10 η in every entry."""
    stale = [torch.tensor([1])]
    run = follow("Adam", stale * 5000 + [torch.tensor([0])] + stale * 300, 2, width=1, lr=1e-4)
    jump, coasted = run.moved[5000, 0], run.moved[5001:, 0].sum()
    assert jump == pytest.approx(1e-4 * np.sqrt(10), rel=0.01)  # 1 - 0.999^5001 is 0.993
    assert coasted / jump == pytest.approx(coasting_factor(0.9, 0.999), rel=0.01)


def gpt(tied):
    return GPT(GPTConfig(vocab_size=50, context=8, d_model=16, n_layers=1, n_heads=2,
                         tie_embeddings=tied))  # fmt: skip


def test_only_a_tied_table_has_a_gradient_in_every_row():
    ids = torch.tensor([[2, 5, 2, 7]])  # 7 is a target, and never an input
    tied, free = (row_updates_study.gradient_by_row(gpt(t), ids) for t in (True, False))
    assert (tied > 0).all()
    assert np.flatnonzero(free).tolist() == [2, 5]


def test_unknown_optimizers_are_refused_by_name():
    with pytest.raises(ConfigError, match=r"'Muon' here; there are \['Adam', 'AdamW'"):
        follow("Muon", STOPS, ROWS)


@pytest.mark.parametrize("ids", [[], [6], [-1]])
def test_ids_outside_the_table_are_refused(ids):
    with pytest.raises(ConfigError, match="outside the table: rows=6"):
        follow("SGD", [torch.tensor(ids, dtype=torch.int64)], ROWS)

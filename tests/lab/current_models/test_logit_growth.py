import pytest
import torch

from lab.current_models import logit_growth, logit_growth_study
from lab.current_models.logit_growth import ARMS, GrowthConfig, rate, train
from mathlm.errors import ConfigError

TEXT = "To be, or not to be, that is the question. " * 400


@pytest.fixture
def own_text(monkeypatch):
    monkeypatch.setattr("mathlm.text.corpora.corpus.split", lambda name: (TEXT, TEXT))


def small(**changes):
    return train(GrowthConfig(steps=12, batch=2, width=16, **changes))


@pytest.mark.parametrize("arm", ARMS)
def test_every_arm_trains_and_its_scores_are_measured(own_text, arm):
    run = small(arm=arm)
    assert run.curve[-1] < run.curve[0]
    assert run.score > 0
    assert 0 < run.top < 1


def test_normalized_queries_and_keys_bound_the_scores_by_the_product_of_their_gains(own_text):
    run = small(arm="QK-norm", lr=0.1)
    bound = 0.0
    for block in run.model.blocks:
        a = block.attention
        gains = a.q_norm.gamma.detach().abs().max() * a.k_norm.gamma.detach().abs().max()
        bound = max(bound, float(gains) * a.d_head**0.5)
    assert run.score <= bound


def test_the_score_that_is_measured_is_that_of_the_model(own_text):
    """Queries a thousand times as long, scores much larger."""
    run, ids = small(), torch.arange(32).view(1, 32)
    before = logit_growth.attention_of(run.model, ids)[0]
    for block in run.model.blocks[:1]:
        block.attention.W_q.weight.data *= 1e3
    assert logit_growth.attention_of(run.model, ids)[0] > 100 * before


def test_the_share_of_large_scores_is_that_of_the_pairs_that_are_seen(own_text):
    """With a largest score m, none is larger than m, and all but ties with 0 than -1."""
    run, ids = small(), torch.arange(32).view(1, 32)
    largest = logit_growth.attention_of(run.model, ids)[0]
    assert logit_growth.share_beyond(run.model, ids, largest) == 0
    assert logit_growth.share_beyond(run.model, ids, 0.99 * largest) > 0
    assert logit_growth.share_beyond(run.model, ids, 0) == 1


def test_the_rate_rises_and_falls():
    config = GrowthConfig(lr=1.0, steps=100)
    assert rate(config, 0) == 1 / 20
    assert rate(config, 19) == 1.0
    assert rate(config, 60) == 0.5


def test_the_study_is_recorded_and_summed_up(own_text, tmp_path):
    torch.set_default_dtype(torch.float32)
    args = ["--arms", "plain", "--rates", "0.01", "--seeds", "2", "--steps", "2"]
    rows = logit_growth_study.main([*args, "--record", f"{tmp_path}/r"])
    assert (tmp_path / "r").exists()
    mean, spread = logit_growth_study.by_rate(rows, "loss")["plain"][0.01]
    a, b = (row["loss"] for row in rows)
    assert mean == pytest.approx((a + b) / 2)
    assert spread == pytest.approx(abs(a - b) / 2**0.5)


def test_a_record_is_extended_by_the_runs_that_it_lacks(own_text, tmp_path):
    torch.set_default_dtype(torch.float32)
    args = ["--arms", "plain", "--seeds", "2", "--steps", "2", "--record", f"{tmp_path}/r"]
    first = logit_growth_study.main([*args, "--rates", "0.01"])
    rows = logit_growth_study.main([*args, "--rates", "0.01", "0.1"])
    assert rows[:2] == first  # with the processor seconds of the first time
    assert [(row["lr"], row["seed"]) for row in rows[2:]] == [(0.1, 0), (0.1, 1)]
    assert logit_growth_study.recorded(tmp_path / "r", 2) == rows
    with pytest.raises(ConfigError, match="r has runs of 2 steps, not of steps=3"):
        logit_growth_study.recorded(tmp_path / "r", 3)


def test_what_is_no_run_is_refused():
    with pytest.raises(ConfigError, match="arm='none' is not one of plain"):
        GrowthConfig(arm="none")
    with pytest.raises(ConfigError, match="lr=0 must be positive"):
        GrowthConfig(lr=0)

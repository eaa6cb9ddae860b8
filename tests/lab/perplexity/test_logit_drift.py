import pytest
import torch

from lab.perplexity import drift_study, logit_drift
from lab.perplexity.logit_drift import DriftConfig, train
from mathlm.errors import ConfigError

TEXT = "To be, or not to be, that is the question. " * 400


@pytest.fixture(autouse=True)
def own_text(monkeypatch):
    monkeypatch.setattr("mathlm.text.corpora.corpus.split", lambda name: (TEXT, TEXT))


def small(**changes):
    return train(DriftConfig(steps=12, batch=2, width=16, **changes))


def test_gradient_descent_leaves_the_mean_row_of_the_head_where_it_was():
    """The gradient of the loss in each logit row sums to zero: here in float64."""
    run = small(optimizer="sgd", lr=0.5)
    assert run.loss[-1] < run.loss[0]
    assert max(run.mean_row) - min(run.mean_row) < 1e-12


def test_adam_moves_it():
    run = small()
    assert run.mean_row[-1] > 3 * run.mean_row[0]


def test_a_penalty_on_log_z_brings_it_down():
    held, free = small(z=10.0), small()
    assert held.log_z[-1] < free.log_z[-1] - 0.5


def test_a_record_holds_means_over_some_steps():
    row = drift_study.run(DriftConfig(steps=12, batch=2, width=16), every=4)
    assert row["steps"] == [4, 8, 12]
    assert len(row["log_z"]) == 3
    assert row["loss"][0] == pytest.approx(sum(small().loss[:4]) / 4)


def test_the_study_is_recorded(monkeypatch, tmp_path):
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(drift_study, "CASES", [{"z": 0.1}])
    drift_study.main(
        ["--steps", "2", "--every", "1", "--seeds", "1", "--record", f"{tmp_path}/r"]
    )
    assert (tmp_path / "r").exists()


def test_what_is_no_run_is_refused():
    with pytest.raises(ConfigError, match=r"z=-1\.0 must not be negative"):
        DriftConfig(z=-1.0)


def test_the_windows_are_those_of_the_plays():
    assert logit_drift.data(DriftConfig())(0)["ids"].shape == (16, 32)

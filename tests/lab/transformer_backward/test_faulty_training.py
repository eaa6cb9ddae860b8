import json

import numpy as np
import pytest

from lab.transformer_backward import faulty_training
from lab.transformer_backward.faulty_training import RIGHT, run
from lab.transformer_backward.numerals_by_hand import ByHandConfig, train
from mathlm.errors import InputError

TINY = {"high": 40, "held_out": 4, "d_model": 8, "batch": 8, "warmup": 10}


def test_without_a_fault_it_is_the_training_by_hand():
    config = ByHandConfig(**TINY, steps=20)
    done = train(config)
    found = run(RIGHT, config)
    np.testing.assert_allclose(found["losses"], done.losses.reshape(2, 10).mean(1), atol=1e-5)
    assert found["accuracy"] == done.accuracy


def test_a_turned_sign_climbs():
    """The first loss is near log V; after thirty steps uphill it is above it, else below."""
    config = ByHandConfig(**TINY, steps=30)
    right, wrong = (run(fault, config)["losses"] for fault in (RIGHT, "sign turned"))
    assert wrong[-1] > wrong[0]
    assert right[-1] < right[0]


def test_a_fault_is_gone_after_its_run():
    config = ByHandConfig(**TINY, steps=10)
    before = run(RIGHT, config)
    wrong = run("keys learn nothing", config)
    assert run(RIGHT, config) == before
    assert wrong["losses"] != before["losses"]


def test_a_fault_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="fault 'none' is not one of no fault, sign turned"):
        run("none", ByHandConfig(**TINY))


def test_the_record_holds_every_run(tmp_path, monkeypatch):
    monkeypatch.setattr(faulty_training, "ByHandConfig", lambda **sizes: ByHandConfig(**TINY))
    monkeypatch.setattr(
        faulty_training, "run", lambda f, c: {"fault": f, "losses": [1.0], "accuracy": 0.5}
    )
    faulty_training.main(["--faults", RIGHT, "db a mean", "--record", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert [result["fault"] for result in record["results"]] == [RIGHT, "db a mean"]
    assert record["config"]["high"] == 40

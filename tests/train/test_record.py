import json
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from train.tiny_runs import tiny_trainer

import mathlm
from mathlm.optim import warmup_cosine
from mathlm.train import describe, next_token, write_record


def test_a_record_is_json_with_versions(tmp_path):
    trainer = tiny_trainer(steps=2)
    path = write_record(
        tmp_path / "new" / "run.json", config=trainer.describe(), history=trainer.fit()
    )
    record = json.loads(path.read_text())
    assert record["versions"]["mathlm"] == mathlm.__version__
    assert record["history"] == trainer.history
    assert record["config"]["schedule"]["peak"] == 0.05
    assert [p.name for p in path.parent.iterdir()] == ["run.json"]


def test_a_record_is_the_same_each_time(tmp_path):
    one, two = (write_record(tmp_path / f"{i}", a={"y": 1, "x": 2}, b=[3]) for i in range(2))
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            warmup_cosine(1.0, 2, 3),
            {"class": "warmup_cosine", "peak": 1.0, "warmup": 2, "steps": 3, "final": 0.0},
        ),
        (next_token, "mathlm.train.next_token"),
        (Path("a/b"), "b"),
        ((1, [2.5, None]), [1, [2.5, None]]),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (torch.float32, "torch.float32"),
        ({2, 1}, [1, 2]),
        pytest.param(
            partial(next_token, np.zeros(9), rate=0.5, clip=None),
            {
                "class": "partial",
                "of": "mathlm.train.next_token",
                "args": ["numpy.ndarray"],
                "keywords": {"rate": 0.5, "clip": None},
            },
            id="partial",
        ),
        (torch.tensor(2.0), 2.0),
    ],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_a_value_is_described_in_json(value, said):
    found = describe(value)
    json.dumps(found, allow_nan=False)
    assert found == said


def test_a_description_holds_no_address():
    assert "0x" not in json.dumps(describe([object(), partial(print), lambda: 0]))

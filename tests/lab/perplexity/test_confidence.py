import json

import numpy as np
import pytest
import torch

from lab.objectives import free_running
from lab.perplexity import confidence_study, said_and_true
from lab.perplexity.confidence import ConfidenceConfig, predictions, train, windows
from mathlm.errors import ConfigError, InputError
from mathlm.functional import token_cross_entropy
from mathlm.text import KneserNey

TEXT = "To be, or not to be, that is the question. " * 300
SMALL = {"size": 400, "steps": 20, "batch": 2, "context": 16, "width": 16}


@pytest.fixture(autouse=True)
def own_text(monkeypatch):
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr("mathlm.text.corpora.corpus.split", lambda name: (TEXT, TEXT[:2000]))


def test_a_run_looks_at_the_end_and_as_often_as_asked():
    run = train(ConfidenceConfig(**SMALL), every=12)
    assert [look["step"] for look in run.looks] == [12, 20]
    assert run.looks[1]["bits"] < run.looks[0]["bits"] < 8


def test_smoothing_makes_a_model_less_sure():
    longer = SMALL | {"steps": 60}
    plain, soft = (train(ConfidenceConfig(smoothing=e, **longer)).looks[0] for e in (0.0, 0.5))
    assert soft["said"] < plain["said"]
    assert soft["temperature"] < plain["temperature"]


def test_every_byte_but_the_first_is_predicted_once():
    config = ConfidenceConfig(**SMALL)
    logits, targets = predictions(train(config).model, windows(config, held_out=True, size=100))
    assert bytes(targets.tolist()).decode() == TEXT[1:100]
    assert logits.shape == (99, 256)


def test_a_judgment_is_made_of_the_measures_of_all_and_of_the_second_half():
    z = torch.randn(400, 5, generator=torch.Generator().manual_seed(0))
    y = torch.multinomial((z / 2).softmax(-1), 1, generator=torch.Generator().manual_seed(1))[
        :, 0
    ]
    found = said_and_true.judge(z, y)
    bits = token_cross_entropy(z, y).mean() / np.log(2)
    assert found["bits"] == pytest.approx(float(bits), rel=1e-5)
    assert found["cooled_right"] == found["half_right"]
    assert 1.3 < found["temperature"] < 4


def test_passages_are_spread_over_the_text():
    rows = free_running.passages("abcdefghij", 4, 3)
    assert [bytes(row.tolist()) for row in rows.astype(np.uint8)] == [b"abcd", b"defg", b"ghij"]
    with pytest.raises(InputError, match="a text of 3 bytes has no passage of 4"):
        free_running.passages("abc", 4)


def test_the_price_of_a_play_to_a_model_that_knows_nothing_is_eight_bits():
    """And of what such a model writes, to itself, too."""
    model = train(ConfidenceConfig(**SMALL | {"steps": 2, "context": 40})).model
    with torch.no_grad():
        model.head.weight.zero_()
    rows = free_running.passages(TEXT, 40, 3)
    found = free_running.prices(model, KneserNey(2, TEXT.encode()), rows)
    np.testing.assert_allclose([found.play, found.own], 8, rtol=1e-5)
    assert found.own_counts.mean() > found.play_counts.mean() + 2


def test_the_study_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(confidence_study, "SMOOTHINGS", (0.1,))
    path = tmp_path / "confidence.json"
    confidence_study.main(
        ["--steps", "2", "--seeds", "1", "--every", "1", "--size", "200", "--record", str(path)]
    )
    assert len(json.loads(path.read_text())["results"][0]["looks"]) == 2


def test_what_is_no_run_is_refused():
    with pytest.raises(ConfigError, match="smoothing=1 is outside"):
        ConfidenceConfig(smoothing=1)
    with pytest.raises(ConfigError, match="size larger than context"):
        ConfidenceConfig(size=64)

import json

import numpy as np
import pytest
import torch

from lab.embeddings import count_vectors, word2vec, word2vec_study
from mathlm.errors import ConfigError
from mathlm.text import corpus

TOPICS = (["cat", "dog", "fur", "paw"], ["sun", "moon", "star", "sky"])


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def text():
    """Lines that are each about one of two topics."""
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(TOPICS[i % 2], size=6)) for i in range(400)]
    return count_vectors.read(lines, min_count=1)


def small(**changes):
    options = {"d_model": 8, "groups": 4, "pairs": 16, "drawn": 8, "thin": 1.0, "epochs": 2}
    return word2vec.SkipGramRun(**options | changes)


def test_words_of_a_topic_come_to_lie_together(text):
    trained = word2vec.train(text, small())
    index, unit = text.vocabulary.index, trained.vectors
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    cosine = lambda a, b: unit[index[a]] @ unit[index[b]]  # noqa: E731
    assert cosine("cat", "dog") > 0.5 > cosine("cat", "sun")
    assert cosine("sun", "star") > 0.5 > cosine("moon", "paw")
    assert np.mean(trained.losses[-20:]) < 0.9 * trained.losses[0]


def test_an_untrained_pair_costs_log_2_a_question(text):
    assert word2vec.train(text, small(epochs=0.1)).losses[0] == pytest.approx(6 * np.log(2))


def test_the_same_seed_gives_the_same_vectors(text):
    first, second, other = (
        word2vec.train(text, small(seed=seed, epochs=0.2)).vectors for seed in (1, 1, 2)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_a_run_without_steps_is_refused(text):
    with pytest.raises(ConfigError, match="steps=0 must be positive"):
        word2vec.train(text, small(epochs=0))


@pytest.fixture
def short_glosses(monkeypatch):
    """Every twelfth entry of the glosses."""
    entries = corpus.documents("glosses")[::12]
    monkeypatch.setattr(corpus, "documents", lambda name: entries)


@pytest.mark.slow
def test_the_study_is_recorded(short_glosses, tmp_path):
    path = tmp_path / "record.json"
    options = "--epochs 0.5 --d-model 16 --evaluations 2"
    word2vec_study.main(f"{options} --record {path}".split())
    record = json.loads(path.read_text())
    assert [point["step"] for point in record["points"]] == [
        record["steps"] // 2,
        record["steps"],
    ]
    assert record["loss"][-1] < record["loss"][0] == pytest.approx(6 * np.log(2), rel=0.05)
    assert set(record["compared"]) >= {"correlation", "ppmi-svd"}
    assert record["run"]["d_model"] == 16

"""The study of two steered models, in miniature."""

import json
import statistics

import pytest
import torch
from recipes.tiny_chats import save_base

from lab.reward_hacking import steering, steering_looks, steering_plays, steering_sums
from lab.reward_hacking.steering_plays import Steering
from lab.reward_hacking.steering_rewards import JUDGE, PARTS, REWARDS, part
from mathlm.models import GPT
from mathlm.text import corpus, sentiment

TEXTS = ["good love, sweet joy and happy peace", "a table", "hate"]


def test_the_parts_have_every_word_once_and_are_about_equal():
    words = [set(part(i).valences) for i in range(PARTS)]
    assert set.union(*words) == set(sentiment.load().valences)
    assert sum(map(len, words)) == 7490
    assert all(1700 < len(some) < 2050 for some in words)


def test_three_judges_are_paid_by_their_mean_less_disagreement_and_the_last_is_none_of_them():
    scores = [[part(i).score(text) for i in range(3)] for text in TEXTS]
    expected = [statistics.mean(three) - 0.25 * statistics.stdev(three) for three in scores]
    assert REWARDS["three judges"](TEXTS, TEXTS) == pytest.approx(expected)
    assert JUDGE(TEXTS, TEXTS) == [part(3).score(text) for text in TEXTS]


@pytest.mark.parametrize("method", ["group", "ppo"])
def test_a_run_holds_what_the_record_promises(tmp_path, monkeypatch, method):
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(steering_plays, "MODEL", save_base(tmp_path / "base", context=256))
    setting = Steering(method=method, iterations=3, every=2, group_size=2, length=6)
    found = json.loads(json.dumps(steering_plays.steer(setting)))
    assert [seen["iteration"] for seen in found["looks"]] == [0, 2, 3]
    first = found["looks"][0]
    assert {"reward", "all_words", "judge", "plays", "distinct", "samples"} <= set(first)
    assert first["kl"] == 0
    assert len(first["samples"]) == 8
    assert 5 < first["plays"] < 12  # a random model of bytes: 8 bits or so
    assert len(found["history"]) == 3
    assert all(("clip_share" in r) is (method == "ppo") for r in found["history"])


def test_the_plays_that_a_look_reads_are_held_out():
    learned, held_out = corpus.split("shakespeare")
    read = [bytes(row.tolist()).decode() for b in steering_looks.windows() for row in b["ids"]]
    assert all(text in held_out for text in read)
    assert read[0] not in learned


def test_early_stopping_takes_the_last_look_within_the_tolerance():
    looks = [{"iteration": i, "plays": p} for i, p in enumerate((2.0, 2.4, 2.6, 2.0))]
    assert steering.early_stop({"looks": looks})["iteration"] == 1


def test_early_stopping_allows_half_a_bit_and_keeps_the_numbers_of_the_look_alone():
    looks = [
        {"iteration": i, "plays": p, "judge": 0.1 * i, "samples": ["a"]}
        for i, p in enumerate((2.0, 2.5, 2.51, 2.0))
    ]
    assert steering.early_stop({"looks": looks}) == {"iteration": 1, "plays": 2.5, "judge": 0.1}


def test_the_study_keeps_its_pieces(tmp_path, monkeypatch):
    run = {"looks": [{"iteration": 0, "plays": 2.0, "samples": ["a"]}]}
    calls = []
    monkeypatch.setattr(steering, "steer", lambda setting: calls.append(setting) or run)
    monkeypatch.setattr(steering, "steer_sums", lambda: run)
    options = f"--pieces {tmp_path} --record {tmp_path / 'record.json'}".split()
    first, second = steering.main(options), steering.main(options)
    assert first == second
    assert len(calls) == len(steering.RUNS)
    record = json.loads((tmp_path / "record.json").read_text())
    assert set(record["plays"]) == set(record["early_stop"]) == set(steering.RUNS)


def test_sums_are_trained_and_held_out_without_a_common_one():
    assert not set(steering_sums.TRAINED) & set(steering_sums.HELD_OUT)
    assert len(steering_sums.TRAINED) + len(steering_sums.HELD_OUT) == 64


class Tokens:
    """Each character a token."""

    @classmethod
    def from_gguf(cls, path):
        return cls()

    def encode(self, text):
        return [ord(c) % 128 for c in text]

    def decode(self, ids):
        return "".join(map(chr, ids))


def test_a_run_on_sums_holds_what_the_record_promises(monkeypatch, tmp_path):
    """A small model in the place of SmolLM2."""
    torch.set_default_dtype(torch.float32)
    base = save_base(tmp_path / "base", vocab_size=128, context=256)
    monkeypatch.setattr(steering_sums.pretrained, "find", lambda name: base)
    monkeypatch.setattr(steering_sums, "ByteBPE", Tokens)
    monkeypatch.setattr(steering_sums, "PLAYS", 32)
    found = json.loads(json.dumps(steering_sums.steer_sums(iterations=3, every=2)))
    assert [seen["iteration"] for seen in found["looks"]] == [0, 2, 3]
    assert found["looks"][0]["samples"][0]["prompt"] == "2 + 4 ="
    assert len(found["looks"][0]["right"]) == len(steering_sums.HELD_OUT)
    shares = found["looks"][-1]["right"]
    assert found["looks"][-1]["reward"] == pytest.approx(statistics.mean(shares))
    assert isinstance(GPT.from_pretrained(base), GPT)

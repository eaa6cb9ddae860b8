import json
import math

import pytest

from lab.tokenization import head_start


def test_the_cost_of_two_letters_by_hand():
    """a three times, b once, and one for each of 256 bytes: 4/260 and 2/260."""
    cost = head_start.frequency_bits("aaab", "ab", 256)
    assert cost == pytest.approx(-(math.log2(4 / 260) + math.log2(2 / 260)) / 2)


def test_merges_make_a_text_of_one_word_cheap():
    """After (a, b) a text of n words is n tokens, all of them the one that was counted."""
    training = " ab" * 50
    costs = [head_start.frequency_bits(training, " ab" * 10, V) for V in (256, 257, 258)]
    assert costs[0] > costs[1] > costs[2] > 0


def test_the_record_holds_each_size(tmp_path):
    path = tmp_path / "record.json"
    options = f"--sizes 256 300 --training 20000 --held-out 2000 --record {path}"
    runs = head_start.main(options.split())
    assert json.loads(path.read_text())["runs"] == runs
    assert [run["vocab_size"] for run in runs] == [256, 300]
    assert 3 < runs[1]["bits_per_byte"] < runs[0]["bits_per_byte"] < 8

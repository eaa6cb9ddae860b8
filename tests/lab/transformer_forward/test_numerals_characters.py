import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from lab.transformer_forward import numerals_characters as recipe
from lab.transformer_forward.numerals import NumeralsRun
from lab.transformer_forward.numerals_characters import CONFIG, MOST, alignment, examine, pools


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_there_is_a_pool_for_each_number_of_digits():
    training, held_out = pools(CONFIG)
    assert [set(map(len, map(str, pool))) for pool in training] == [{d} for d in range(1, 7)]
    assert [len(pool) for pool in training] == [9, 81, 810, MOST, MOST, MOST]
    assert np.unique([len(str(n)) for n in held_out], return_counts=True)[1].tolist() == [
        1,
        9,
        90,
        200,
        200,
        200,
    ]


def test_no_number_held_out_is_in_a_pool():
    training, held_out = pools(CONFIG)
    assert not set(np.concatenate(training)) & set(held_out)


def test_the_record_counts_by_digits_and_lists_every_mistake(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "CONFIG", replace(CONFIG, held_out=2, context=32))
    path = tmp_path / "record.json"
    recipe.main(f"--steps 2 --high 1000 --example 71 --record {path}".split())
    found = json.loads(path.read_text())["results"]
    assert [row["numbers"] for row in found["greedy"]["by_digits"]] == [1, 2, 2]
    assert len(found["greedy"]["mistakes"]) == 5
    assert set(found["greedy"]["mistakes"][0]) == {"english", "french", "said"}
    assert found["beam"]["beams"] == 4
    assert found["alignment"]["number"] == 71


def test_the_alignment_has_a_row_for_each_character_and_the_end():
    found = alignment(NumeralsRun(CONFIG, [np.array([71])], np.array([3])), 71)
    assert (found["english"], found["french"]) == ("seventy-one", "soixante et onze")
    weights = np.array(found["weights"])
    assert weights.shape == (2, 4, 16 + 1, 11)
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=0.01)


def test_an_examination_by_hand():
    run = NumeralsRun(CONFIG, [np.array([2, 40])], np.array([3]))
    run.say = lambda numbers, beams: ["deux", "quarant"]
    found = examine(run, np.array([2, 40]), 1)
    assert (found["share"], len(found["by_digits"])) == (0.5, 2)
    assert found["mistakes"] == [{"english": "forty", "french": "quarante", "said": "quarant"}]


def test_the_alignment_is_of_the_last_weights():
    run = NumeralsRun(CONFIG, [np.array([2, 40])], np.array([3]))
    before = alignment(run, 40)["weights"]
    run.model.decoder[0].cross_attention.W_q.weight.data *= 3
    assert not np.array_equal(before[0], alignment(run, 40)["weights"][0])

"""The record says what its parts say: the teacher's rows, the choice of steps, the seeds."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from lab.distillation import glosses, study
from mathlm.chat import folder

RECORD = Path(__file__).parents[3] / "book/results/distillation.json"


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text(encoding="utf-8"))


def test_each_arm_has_its_own_step_size_chosen_on_the_validation_text(record):
    for way in ("plain", "kl", "samples", "greedy"):
        tried = record[f"rates {way}"]
        assert [row["rate"] for row in tried] == list(study.RATES)
        best = min(tried, key=lambda row: row["validation"])["rate"]
        used = {row["rate"] for k in record if k.startswith(f"{way} ") for row in record[k]}
        assert used == {best}


def test_each_size_has_three_seeds(record):
    sizes = [f"plain {n}" for n in (*study.SIZES, *study.MORE)]
    sizes += [f"kl {n}" for n in study.SIZES]
    assert all(len(record[name]) == len(study.SEEDS) for name in sizes)


def test_a_student_is_judged_as_it_was_trained(record):
    """Loaded again from its weights, a student has the loss that it ended with."""
    for way in ("plain", "kl", "samples", "greedy"):
        for seed in study.SEEDS:
            judged = record[f"judged {way} 6144 {seed}"]["test"]
            assert judged == pytest.approx(record[f"{way} 6144"][seed]["test"], abs=2e-4)


def test_divergence_and_entropy_make_the_teacher_s_cross_entropy(record):
    """On one text the teacher's entropy is the same, whoever the student is."""
    entropies = {
        record[k]["text"]["teacher entropy"] for k in record if k.startswith("judged ")
    }
    assert len(entropies) == 1
    assert entropies.pop() == pytest.approx(record["teacher"]["entropy"], abs=1e-4)


@pytest.mark.slow
def test_the_kept_tokens_are_the_most_frequent_ones(record):
    """Counted again; a token that was left out is no more frequent than one that was kept."""
    tokenizer = folder.load("smollm2", tokenizer=None, form="auto", device="cpu").tokenizer
    ids = np.array(tokenizer.encode("\n" + "\n".join(glosses.definitions())))
    counts = np.bincount(ids, minlength=49_152)
    kept = np.zeros(49_152, bool)
    kept[record["vocabulary"]] = True
    assert kept.sum() == glosses.TOKENS
    assert counts[kept].min() >= counts[~kept].max()


@pytest.mark.slow
def test_variety_of_the_text_is_counted_on_as_many_tokens_as_that_of_the_answers(record):
    """Pairs of neighbors in what follows the prompts in the text, as a set."""
    tokenizer = folder.load("smollm2", tokenizer=None, form="auto", device="cpu").tokenizer
    start, end = study.PROMPT, study.PROMPT + 48
    rows = [row[start:end].tolist() for row in glosses.load_rows(tokenizer).train[:128]]
    pairs = [pair for row in rows for pair in itertools.pairwise(row)]
    assert len(pairs) == study.ANSWERS * 47
    assert record["answers text"]["distinct 2"] == pytest.approx(len(set(pairs)) / len(pairs))

import json
from pathlib import Path

import pytest
import torch

from lab.fast_generation import speculation_study
from lab.fast_generation.speculation import measure, reading_seconds, speedup
from mathlm.functional import expected_speedup, expected_tokens
from mathlm.generate import PromptLookup, Proposal
from mathlm.models import GPT, GPTConfig

RESULTS = Path(__file__).parents[3] / "book" / "results"
PROMPTS = torch.tensor([[1, 2, 3, 1, 2], [4, 4, 0, 5, 6]])


def make(seed):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 7, "context": 60, "d_model": 16, "n_layers": 1, "n_heads": 2}
    return GPT(GPTConfig(**sizes)).eval()


def test_a_draft_that_is_the_target_keeps_every_draft_token():
    """Three rounds of four tokens for each of two texts."""
    fates = measure(make(0), make(0), PROMPTS, 12, 3)
    assert fates["chance"] == pytest.approx(1.0)
    assert (fates["accepted"], fates["tokens"], fates["rounds"]) == (1.0, 4.0, 6)
    assert fates["formula"] == pytest.approx(4.0)


def test_a_draft_that_is_always_wrong_keeps_no_draft_token():
    """Token 6 has no chance, so that each round yields the token of the target alone."""
    target = make(0)
    torch.nn.init.zeros_(target.final_norm.gamma)
    target.final_norm.beta.data = -50 * target.head.weight[6].detach().sign()
    fates = measure(target, lambda ids, n, c: proposal(ids, n), PROMPTS, 6, 2, temperature=0)
    assert (fates["accepted"], fates["tokens"], fates["chance"]) == (0.0, 1.0, 0.0)
    assert fates["formula"] == expected_tokens(0.0, 2) == 1.0


def proposal(ids, draft_length):
    return Proposal(ids.new_full((draft_length,), 6))


def test_rounds_without_any_draft_token_are_counted():
    fates = measure(make(0), PromptLookup(longest=8, shortest=8), PROMPTS[1:], 3, 2)
    assert (fates["silent"], fates["rounds"]) == (3, 3)
    assert fates["chance"] == 0.0


def test_times_are_positive():
    assert reading_seconds(make(0), PROMPTS[0], 2, turns=3) > 0
    assert speedup(make(0), make(1), PROMPTS[0], 4, 2, turns=1) > 0


def test_the_study_records_every_case(tmp_path, monkeypatch):
    def tiny(models, new, number, turns):
        return speculation_study.cases(
            make(0), {"same": make(0)}, {"text": PROMPTS}, new, (1, 2), (0.0,), turns
        )

    monkeypatch.setattr(speculation_study, "plays", tiny)
    path = tmp_path / "record.json"
    speculation_study.main(["plays", "--new", "5", "--turns", "1", "--record", str(path)])
    found = json.loads(path.read_text())["cases"]
    assert [case["ahead"] for case in found] == [1, 2]
    case = found[1]
    expected = expected_speedup(case["chance"], 2, case["cost"], case["verify"])
    assert case["speedup_formula"] == pytest.approx(expected)


def test_the_small_draft_of_the_plays_is_right_two_times_in_three():
    target, draft = (
        GPT.from_pretrained(RESULTS / name) for name in ("shakespeare-gpt", "shakespeare-draft")
    )
    prompts = torch.tensor([list(b"ROMEO:\nI ")])
    fates = measure(target, draft, prompts, new=48, draft_length=4)
    assert fates["tokens"] > 1.5
    assert 0.4 < fates["chance"] < 0.9

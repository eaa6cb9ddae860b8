"""The ten requests: each model is asked all of them, and an answer without an end is marked."""

import json

from lab.whole_stack import ten_prompts


def test_every_request_is_put_to_every_model(tmp_path, monkeypatch):
    monkeypatch.setattr(ten_prompts, "load", lambda path, device: path.name)

    def answers(model, requests, longest, seed, temperature):
        assert (longest, seed, temperature) == (5, 0, 0.7)
        return [(f"{model}: {request}", model == "tuned") for request in requests]

    monkeypatch.setattr(ten_prompts, "answers", answers)
    record = tmp_path / "r.json"
    found = ten_prompts.main([str(tmp_path), "--longest", "5", "--record", str(record)])
    assert [row["prompt"] for row in found] == list(ten_prompts.REQUESTS)
    assert len(set(ten_prompts.REQUESTS)) == 10
    assert found[3]["tuned"] == "tuned: Do you like music?"
    assert found[3]["base"] == "base: Do you like music? …"
    assert json.loads(record.read_text())["results"] == found

"""Answers for shares of an update."""

import json

from lab.tuning_smollm2 import dial, measures
from lab.tuning_smollm2.training import add_update
from mathlm import adapt


def test_brief_answers_end_with_a_sentence_and_are_not_empty():
    assert dial.brief(["It is so, I think.", "", "   ", "One. And then", "Yes. No."]) == 2


def test_the_record_gets_answers_for_each_share(small, tmp_path, monkeypatch):
    chat_model, record = small(), tmp_path / "record.json"
    model = chat_model.model
    add_update(model, "default", 0, last=1)
    adapt.save_adapter(model, tmp_path / "adapter")
    adapt.remove_adapter(model, "default")
    monkeypatch.setattr(dial.folder, "load", lambda *a, **k: chat_model)
    monkeypatch.setattr(dial.questions, "SHOWN", ["Hi?", "Who?"])
    monkeypatch.setattr(dial.questions, "FRESH", ["Who?"])
    record.write_text(json.dumps({"runs": {}}))
    expected = measures.greedy(chat_model, ["Hi?", "Who?"])  # an update of zero changes nothing
    dial.main(["--adapter", str(tmp_path / "adapter"), "--record", str(record)])
    found = json.loads(record.read_text())
    assert found["shares"] == {str(share): expected for share in dial.SHARES}
    assert found["fresh"] == {"0.0": expected[1:], "0.4": expected[1:]}
    assert found["runs"] == {}

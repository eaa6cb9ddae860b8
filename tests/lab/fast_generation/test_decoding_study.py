import json
import re

import pytest
import torch

from lab.fast_generation import decoding_measures, decoding_study
from lab.fast_generation.decoding_measures import judge, measure, said_again
from lab.fast_generation.decoding_study import compare, keep, main
from lab.fast_generation.decoding_texts import Writer, passages, read, sample, search, texts
from mathlm.generate import generate
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, KneserNey, corpus

COUNTS = KneserNey(3, b"to be, or not to be: that is the question: whether 'tis nobler")


def writer(number=3, given=5, new=12):
    sizes = {"vocab_size": 256, "context": 64, "d_model": 16, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(**sizes)).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    letters = torch.randint(97, 123, (number, given + new))
    return Writer(model, Bytes(), letters[:, :given], letters[:, given:])


def costs_by_definition(w, ids):
    """Log-probabilities and entropies from one pass through the whole text."""
    T = w.prompts.shape[1]
    with torch.no_grad():
        logp = w.model(torch.cat((w.prompts, ids), 1)[:, :-1])[:, T - 1 :].log_softmax(-1)
    return logp.gather(-1, ids[..., None])[..., 0], torch.special.entr(logp.exp()).sum(-1)


@pytest.mark.parametrize("way", ["sample", "search", "read"])
def test_what_is_told_of_a_text_is_what_one_pass_tells(way):
    w = writer()
    written = {
        "sample": lambda: sample(w, {"temperature": 0.7, "top_p": 0.9}),
        "search": lambda: search(w, 3),
        "read": lambda: read(w, w.human),
    }[way]()
    logp, entropy = costs_by_definition(w, written.ids)
    torch.testing.assert_close(written.logp, logp, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(written.entropy, entropy, rtol=1e-10, atol=1e-12)


def test_a_sample_is_what_generate_writes_with_these_options(unchecked):
    w, options = writer(), {"temperature": 0.8, "min_p": 0.02}
    expected = generate(w.model, w.prompts, 12, seed=0, **options)[:, 5:]
    assert torch.equal(sample(w, options).ids, expected)


def test_two_beams_find_texts_that_are_likelier_than_greedy_ones(unchecked):
    """In the sum over the prompts."""
    w = writer(number=5)
    greedy = sample(w, {"temperature": 0.0}).logp.sum()
    assert search(w, 6).logp.sum() > greedy


def test_drawn_at_temperature_one_a_token_costs_its_entropy_in_the_mean(unchecked):
    """The difference has mean 0: 600 tokens, 5 standard errors."""
    written = sample(writer(number=60, new=10), {"temperature": 1.0})
    off = -written.logp - written.entropy
    assert abs(off.mean()) < 5 * off.std() / 600**0.5


def test_the_judge_is_asked_for_the_second_text_alone():
    """Bits of each byte behind all before it; é is two bytes."""
    data = "not to bé".encode()
    bits = -COUNTS.log_probabilities(data) / torch.tensor(2.0).log().item()
    assert judge(COUNTS, ["not "], ["to bé"]) == pytest.approx(bits[4:].mean())


def test_a_passage_said_again_is_priced_once_for_each_time():
    w = writer()
    found = said_again(w, 4, 3)
    logp, _ = costs_by_definition(w, w.human[:, :4].repeat(1, 3))
    assert found == pytest.approx([logp[:, i : i + 4].mean().item() for i in (0, 4, 8)])


def test_passages_begin_where_a_speech_does_and_go_on_as_the_play_does():
    prompts, human = passages(Bytes(), 4, 20, 30, start=[0])
    held_out = corpus.split("shakespeare")[1]
    assert (prompts.shape, human.shape) == ((4, 21), (4, 30))
    assert (prompts[:, 0] == 0).all()
    for row in torch.cat((prompts[:, 1:], human), 1).tolist():
        assert "\n\n" + Bytes().decode(row) in held_out


def test_texts_that_repeat_themselves_are_told_apart(monkeypatch):
    monkeypatch.setattr(
        decoding_measures, "WORD", re.compile(".")
    )  # random letters are no words
    w = writer(new=24)
    same = torch.tensor([*b"go on "]).repeat(4).expand(3, -1)
    found = measure(w, read(w, same), COUNTS)
    other = measure(w, read(w, w.human), COUNTS)
    assert found["repeated"] > 0.5
    assert found["self_bleu"] == pytest.approx(1.0)
    assert found["compression"] > 2 * other["compression"]


def test_each_way_of_decoding_gets_a_row_and_so_do_people(monkeypatch, unchecked):
    monkeypatch.setattr(decoding_measures, "WORD", re.compile("."))
    rows = list(compare(writer(), COUNTS, [{"temperature": 0.5}, {"top_k": 3}], [2]))
    assert [row["options"] for row in rows] == [
        {"human": True},
        {"temperature": 0.5},
        {"top_k": 3},
        {"beams": 2},
    ]
    assert all(len(row["texts"]) == 3 and len(row["logp"][0]) == 12 for row in rows)


def test_the_record_of_one_writer_leaves_that_of_the_other(tmp_path):
    path = tmp_path / "record.json"
    for name, number in (("plays", 1), ("smollm2", 2), ("plays", 3)):
        keep(path, name, {"rows": [number]})
    found = json.loads(path.read_text())["writers"]
    assert found == {"plays": {"rows": [3]}, "smollm2": {"rows": [2]}}


def test_the_command_writes_what_it_returns(tmp_path, monkeypatch):
    w = writer()
    monkeypatch.setattr(decoding_study, "open_writer", lambda *args, **sizes: w)
    monkeypatch.setattr(decoding_study, "compare", lambda *args: iter([{"options": {}}]))
    monkeypatch.setattr(decoding_study, "KneserNey", lambda *args: COUNTS)
    path = tmp_path / "record.json"
    record = main(["plays", "--length", "4", "--times", "3", "--record", str(path)])
    saved = json.loads(path.read_text())["writers"]["plays"]
    assert saved["rows"] == record["rows"] == [{"options": {}}]
    assert len(saved["said_again"]) == 3
    assert saved["prompts"] == texts(w, w.prompts)


def test_a_cold_text_costs_its_writer_less_than_a_hot_one(monkeypatch, unchecked):
    monkeypatch.setattr(decoding_measures, "WORD", re.compile("."))
    w = writer(new=8)
    cold, hot = (measure(w, sample(w, {"temperature": t}), COUNTS) for t in (0.2, 3.0))
    assert cold["own"] < hot["own"]


@pytest.mark.parametrize(
    "options", [["--number", "1"], ["--times", "0"], ["--length", "0"], ["--length", "65"]]
)
def test_options_that_make_no_sense_are_refused(options, capsys):
    with pytest.raises(SystemExit):
        main(["plays", *options])
    assert "--length within --new" in capsys.readouterr().err

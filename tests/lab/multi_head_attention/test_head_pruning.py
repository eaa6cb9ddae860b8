import json

import pytest
import torch

from lab.multi_head_attention import head_pruning
from mathlm.interpret import losses_without_heads
from mathlm.models import GPT, GPTConfig
from mathlm.text import ByteBPE

SHORT = "--windows 2 --context 12 --counts 1 3 8 --seeds 5 6"


BYTES = ByteBPE.train(["ab"], 256)  # one token for each byte


@pytest.fixture
def model():
    made = GPT(GPTConfig(vocab_size=256, context=16, d_model=8, n_layers=2, n_heads=4))
    for p in made.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return made.eval()


@pytest.fixture
def ids():
    return head_pruning.windows(BYTES, "shakespeare", count=2, context=12)


def test_windows_are_held_out_lines_after_a_start_token(ids):
    text = head_pruning.corpus.split("shakespeare")[1]
    assert ids.shape == (2, 13)
    assert ids[:, 0].tolist() == [head_pruning.START] * 2
    for row in ids:
        assert "\n" + BYTES.decode(row[1:].tolist()) in text
    assert not torch.equal(ids[0], ids[1])


def test_the_change_of_a_loss_and_its_error_by_hand():
    """Differences 1, 3, 2, 2: mean 2, standard deviation √(2/3), error √(2/3) / 2."""
    whole = torch.tensor([[5.0, 1.0], [0.0, 2.0]])
    found = head_pruning.change(whole + torch.tensor([[1.0, 3.0], [2.0, 2.0]]), whole)
    assert found["change"] == 2.0
    assert float(found["standard_error"]) == pytest.approx((2 / 3) ** 0.5 / 2, rel=1e-12)
    assert found["windows"].tolist() == [2.0, 2.0]


def test_heads_go_in_the_order_of_least_harm_or_at_random():
    alone = torch.tensor([[0.3, -0.1], [0.2, 0.0]]).unsqueeze(-1).expand(2, 2, 3)
    orders = head_pruning.orders(alone, [0, 1])
    assert orders["least harm"] == [(slice(None), [1, 3, 2, 0])]
    (_, first), (_, second) = orders["random 0"][0], orders["random 1"][0]
    assert sorted(first) == sorted(second) == [0, 1, 2, 3]
    assert head_pruning.orders(alone, [0])["random 0"] == orders["random 0"]


def test_an_order_chosen_elsewhere_does_not_see_the_windows_it_is_measured_on():
    """Windows 0 and 2 would remove head 0 first, window 1 head 1: each gets the other order."""
    alone = torch.tensor([[[0.0, 0.9, 0.0], [0.1, 0.0, 0.3]]])
    (even, for_even), (odd, for_odd) = head_pruning.orders(alone, [])["least harm elsewhere"]
    assert torch.arange(3)[even].tolist() == [0, 2]
    assert torch.arange(3)[odd].tolist() == [1]
    assert (for_even, for_odd) == ([1, 0], [0, 1])


def test_each_part_loses_the_heads_of_its_own_order(model, ids):
    heads, whole = [(0, 1), (1, 2)], losses_without_heads(model, ids)
    parts = [(slice(0, None, 2), [0, 1]), (slice(1, None, 2), [1, 0])]
    found = head_pruning.remove_many(model, ids, whole, heads, parts, 1)["windows"]
    for row in range(2):
        expected = losses_without_heads(model, ids, [heads[row]])[row] - whole[row]
        assert float(found[row]) == pytest.approx(float(expected.mean()), rel=1e-9)


def test_a_study_removes_what_it_says(model, ids):
    found = head_pruning.study(model, ids, head_pruning.parse(SHORT.split()))
    alone, whole = found["alone"]["change"], losses_without_heads(model, ids)
    expected = (losses_without_heads(model, ids, [(1, 2)]) - whole).mean()
    torch.testing.assert_close(alone[1, 2], expected, rtol=1e-9, atol=1e-12)
    assert float(found["whole"]["change"]) == pytest.approx(float(whole.mean()), rel=1e-12)
    first = found["many"]["least harm"][0]
    assert first["change"] == pytest.approx(float(alone.min()), rel=1e-9, abs=1e-12)
    ends = [float(runs[-1]["change"]) for runs in found["many"].values()]
    assert ends == pytest.approx(ends[:1] * 4, rel=1e-9)  # all eight heads, in any order


def test_a_study_of_some_layers_leaves_the_others_alone(model, ids):
    args = head_pruning.parse([*SHORT.split(), "--layers", "1"])
    found = head_pruning.study(model, ids, args)
    last = [[(1, head) for head in range(4)]]
    expected = (
        losses_without_heads(model, ids, *last) - losses_without_heads(model, ids)
    ).mean()
    assert found["alone"]["change"].shape == (1, 4)
    assert found["many"]["random 5"][-1]["change"] == pytest.approx(float(expected), rel=1e-9)


def test_a_run_leaves_a_record(model, tmp_path, monkeypatch):
    monkeypatch.setattr(head_pruning.GPT, "from_pretrained", lambda path: model)
    monkeypatch.setattr(head_pruning.ByteBPE, "from_gguf", lambda path: BYTES)
    head_pruning.main([*SHORT.split(), "--record", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text())
    assert {"versions", "device", "options", "alone", "many", "whole"} <= record.keys()
    assert len(record["whole"]["windows"]) == 4
    assert [run["heads"] for run in record["many"]["random 6"]] == [1, 3, 8]


@pytest.mark.parametrize("wrong", ["--windows 0", "--context 0", "--counts 0 3"])
def test_options_that_measure_nothing_are_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        head_pruning.parse(wrong.split())
    assert "must be positive" in capsys.readouterr().err


def test_one_window_cannot_choose_for_another(capsys):
    with pytest.raises(SystemExit):
        head_pruning.parse(["--windows", "1", "--corpora", "glosses"])
    assert "there must be two windows" in capsys.readouterr().err

import json
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from lab.transformer_forward import missing_pieces
from lab.transformer_forward.numerals import NumeralsConfig
from mathlm.errors import ConfigError

SMALL = NumeralsConfig(high=400, held_out=40, steps=3, evaluations=1, d_model=16, layers=2)


def logits(piece, numbers=(203, 302)):
    run = missing_pieces.prepared(piece, SMALL)
    source, target = run.batch(numbers)
    with torch.no_grad():
        return run.model(source, target[:1, :-1].expand(2, -1), source_mask=source != 0)


def test_without_positions_two_orders_of_the_same_words_are_one():
    both = logits("positions")
    assert_close(both[0], both[1], rtol=1e-9, atol=1e-12)
    whole = logits("nothing")
    assert (whole[0] - whole[1]).abs().max() > 1e-3


def test_without_cross_attention_the_source_does_not_matter():
    both = logits("cross-attention", (203, 156))
    assert_close(both[0], both[1], rtol=1e-12, atol=1e-12)
    whole = logits("nothing", (203, 156))
    assert (whole[0] - whole[1]).abs().max() > 1e-3


@pytest.mark.parametrize(("piece", "leaks"), [("nothing", False), ("causal mask", True)])
def test_only_without_the_mask_does_a_later_word_move_an_earlier_position(piece, leaks):
    model, early = missing_pieces.prepared(piece, SMALL).model, []
    for last in (4, 5):
        target = torch.tensor([[1, 7, 8, last]])
        early.append(model(torch.tensor([[5, 6]]), target)[:, :3])
    assert torch.equal(*early) is not leaks


def test_a_lacking_translator_is_judged_by_loss_and_by_exact_match():
    """Three steps teach nothing: about ln V a word, and a sentence has several words."""
    found = missing_pieces.train_without("cross-attention", SMALL)
    assert len(found.run.losses) == 3
    assert 1 < found.word < 6
    labels = (found.run.batch(found.run.held_out)[1][:, 1:] != 0).sum().item()
    assert found.sentence == pytest.approx(found.word * labels / 40)
    assert found.exact == 0


def test_command_line_tries_every_piece_and_writes_a_record(monkeypatch, tmp_path):
    short = lambda **options: replace(SMALL, steps=options["steps"])  # noqa: E731
    short.steps = 1
    monkeypatch.setattr(missing_pieces, "NumeralsConfig", short)
    rows = missing_pieces.main(["--steps", "2", "--record", str(tmp_path / "record.json")])
    assert [row["piece"] for row in rows] == list(missing_pieces.PIECES)
    assert all(0 <= row[name] < 0.2 for row in rows for name in ("exact", "seen"))
    recorded = json.loads((tmp_path / "record.json").read_text())
    assert recorded["results"]["runs"] == rows
    assert recorded["config"]["steps"] == 2


def test_an_unknown_piece_is_refused():
    with pytest.raises(ConfigError, match="piece='head' is not one of nothing"):
        missing_pieces.prepared("head", SMALL)

import itertools

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import translate
from mathlm.models import Transformer, TransformerConfig

BOS, EOS = 1, 2
ENDS = {"start": BOS, "end": EOS}


def make(**changes):
    sizes = {"vocab_size": 11, "target_vocab_size": 7, "context": 12, "d_model": 16}
    sizes |= {"n_layers": 1, "n_decoder_layers": 2, "n_heads": 4}
    model = Transformer(TransformerConfig(**sizes | changes)).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    model.target_embedding.weight.data *= 0.3  # so that the source decides when a row ends
    return model


def source(rows=5, S=6):
    return torch.randint(3, 11, (rows, S))


def greedy_by_definition(model, row, n):
    """One row alone, through the whole model each time."""
    ids = torch.tensor([[BOS]])
    while ids.shape[1] <= n and ids[0, -1] != EOS:
        ids = torch.cat((ids, model(row.unsqueeze(0), ids)[:, -1:].argmax(-1)), 1)
    return ids[0].tolist()


def cut(row):
    """A row up to its end mark."""
    row = row.tolist()
    return row[: row.index(EOS) + 1] if EOS in row else row


@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize(
    ("options", "seed"), [({}, 1), ({"norm_first": True, "position": "relative"}, 3)]
)
def test_one_beam_takes_the_likeliest_token_each_time(options, seed, cache):
    torch.manual_seed(seed)
    model, ids = make(**options), source(12)
    found = translate(model, ids, max_new_tokens=5, cache=cache, **ENDS)
    expected = [greedy_by_definition(model, row, 5) for row in ids]
    assert [cut(row) for row in found] == expected
    lengths = {len(row) for row in expected}
    assert len(lengths) > 2  # some end early, some later, some not at all
    assert found.shape == (12, max(lengths))


def test_behind_its_end_a_row_holds_nothing_else():
    torch.manual_seed(1)
    found = translate(make(), source(12), max_new_tokens=5, **ENDS)
    assert found[:, 2:].eq(EOS).any()
    assert (found[:, 0] == BOS).all()
    for row in found.tolist():
        assert set(row[row.index(EOS) :] if EOS in row else []) <= {EOS}


def test_decoding_stops_when_every_row_has_ended(monkeypatch):
    model, calls = make(), []
    decode = model.decode
    monkeypatch.setattr(model, "decode", lambda *a, **k: calls.append(1) or decode(*a, **k))
    monkeypatch.setattr(
        model.head, "forward", lambda x: torch.eye(7)[EOS].expand(*x.shape[:2], 7)
    )
    assert translate(model, source(3), max_new_tokens=9, **ENDS).tolist() == [[BOS, EOS]] * 3
    assert len(calls) == 1


@pytest.mark.parametrize("beams", [1, 3])
def test_padding_on_either_side_changes_nothing(beams):
    model, ids = make(), source(6, 5)
    alone = translate(model, ids, max_new_tokens=6, beams=beams, **ENDS)
    for padding in ((0, 3), (3, 0)):
        padded = torch.nn.functional.pad(ids, padding, value=9)
        mask = torch.nn.functional.pad(torch.ones_like(ids), padding).bool()
        found = translate(model, padded, mask=mask, max_new_tokens=6, beams=beams, **ENDS)
        assert torch.equal(found, alone)


def log_probability(model, row, y):
    """Of a whole target: the sum over its tokens, in one pass through the model."""
    ids = torch.tensor([[BOS, *y]])
    logp = model(row.unsqueeze(0), ids[:, :-1]).log_softmax(-1)[0]
    return logp[torch.arange(len(y)), ids[0, 1:]].sum().item()


@pytest.mark.parametrize("length_penalty", [0.0, 4.0, -4.0])
def test_with_beams_for_all_targets_the_best_of_all_is_found(length_penalty):
    model, rows = make(target_vocab_size=4), source(2)
    targets = [y for n in (1, 2, 3) for y in itertools.product(range(4), repeat=n)]
    targets = [y for y in targets if EOS not in y[:-1] and (len(y) == 3 or y[-1] == EOS)]
    options = {"beams": 4**3, "length_penalty": length_penalty, **ENDS}
    found = translate(model, rows, max_new_tokens=3, **options)
    for row, ids in zip(rows, found, strict=True):
        scores = {y: log_probability(model, row, y) / len(y) ** length_penalty for y in targets}
        assert cut(ids)[1:] == list(max(scores, key=scores.get))


def test_several_beams_find_likelier_targets_than_one():
    """Not in every row: in the sum over many."""
    model, rows = make(), source(8)
    total = []
    for beams in (1, 4):
        found = translate(model, rows, max_new_tokens=5, beams=beams, **ENDS)
        pairs = zip(rows, found, strict=True)
        total.append(sum(log_probability(model, row, cut(ids)[1:]) for row, ids in pairs))
    assert total[1] > total[0] + 0.1


def test_dropout_is_off_meanwhile_and_the_mode_comes_back():
    model = make(dropout=0.5).train()
    first, second = (
        translate(model, rows, max_new_tokens=6, **ENDS) for rows in [source()] * 2
    )
    assert torch.equal(first, second)
    assert model.training


@pytest.mark.parametrize("beams", [1, 2])
def test_half_precision_translates(beams):
    found = translate(make().bfloat16(), source(), max_new_tokens=5, beams=beams, **ENDS)
    assert found.dtype == torch.int64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": 7}, r"start 7 at \[\] is outside 0\.\.6"),
        ({"end": -1}, r"end -1 at \[\] is outside 0\.\.6"),
        ({"beams": 0}, "beams=0 must be at least 1"),
        ({"max_new_tokens": 0}, "max_new_tokens=0 must be at least 1"),
        ({"max_new_tokens": 13}, "max_new_tokens=13: .* more than the context 12"),
        ({"mask": torch.ones(1, 2, dtype=torch.bool)}, r"mask \(1, 2\)"),
    ],
)
def test_translations_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        translate(make(), source(), **{"max_new_tokens": 4, **ENDS} | options)


def test_a_source_that_is_no_token_is_refused():
    with pytest.raises(InputTypeError, match="token ids must be int64"):
        translate(make(), source().double(), max_new_tokens=4, **ENDS)


@pytest.mark.parametrize("beams", [1, 2])
def test_a_model_that_gives_nan_is_noticed(beams, monkeypatch):
    model = make()
    monkeypatch.setattr(
        model.head, "forward", lambda x: x.new_full((*x.shape[:2], 7), torch.nan)
    )
    with pytest.raises(InputError, match=r"NaN|nan"):
        translate(model, source(), max_new_tokens=4, beams=beams, **ENDS)


def test_the_context_may_be_filled_to_the_last_token():
    model = make()
    model.head.weight.data[EOS] = 0.0
    model.head.weight.data[3] *= 5.0
    assert translate(model, source(20), max_new_tokens=12, **ENDS).shape[1] == 13

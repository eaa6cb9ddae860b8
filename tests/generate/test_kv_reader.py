import pytest
import torch
from generate.reading_families import EVERY, FAMILIES, TIGHT, logits, make, tokens

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import IncrementalReader


@pytest.mark.parametrize("family", ["gpt2", "llama", "alibi"])
def test_every_split_of_a_text_gives_the_same_logits(family):
    model, ids = make(family), tokens(2, 33)
    whole = logits(model, ids)
    for split in range(1, 33):
        reader = IncrementalReader(model, 2, 33)
        first = reader.read(ids[:, :split])
        torch.testing.assert_close(first, whole[:, split - 1], **TIGHT)
        rest = reader.read(ids[:, split:], last=False)
        torch.testing.assert_close(rest, whole[:, split:], **TIGHT)


@pytest.mark.parametrize("family", [*FAMILIES, "rnn", "lstm", "gru"])
@pytest.mark.parametrize("cache", [True, False])
def test_a_text_read_token_by_token_is_the_text_read_at_once(family, cache):
    model, ids = make(family), tokens(3, 33)
    reader, whole = IncrementalReader(model, 3, 33, cache=cache), logits(model, ids)
    for t in range(33):
        torch.testing.assert_close(reader.read(ids[:, t : t + 1]), whole[:, t], **TIGHT)
    assert (reader.length, reader.batch) == (33, 3)


@EVERY
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_prompt_and_what_follows_are_read_as_alone(family, side):
    model, more = make(family), tokens(4, 20)
    lengths = torch.tensor([1, 3, 7, 16])[:, None]
    places = torch.arange(16)
    mask = places < lengths if side == "right" else places >= 16 - lengths
    ids, reader = tokens(4, 16), IncrementalReader(model, 4, 36)
    found = [reader.read(ids, mask), *(reader.read(more[:, t : t + 1]) for t in range(20))]
    for b, n in enumerate(lengths.flatten().tolist()):
        alone = logits(model, torch.cat((ids[b, mask[b]], more[b]))[None])[0, n - 1 :]
        torch.testing.assert_close(torch.stack(found, 1)[b], alone, **TIGHT)


@pytest.mark.parametrize("family", ["llama", "lstm"])
@pytest.mark.parametrize("cache", [True, False])
def test_rows_can_be_repeated_and_put_in_another_order(family, cache):
    model, ids, more = make(family), tokens(3, 7), tokens(4, 5)
    rows, mask = torch.tensor([2, 0, 2, 1]), torch.ones(3, 7, dtype=torch.bool)
    mask[0, :3] = False
    reader = IncrementalReader(model, 3, 12, cache=cache)
    reader.read(ids, mask)
    reader.select(rows)
    found = torch.stack([reader.read(more[:, t : t + 1]) for t in range(5)], 1)
    everything = torch.cat((ids[rows], more), 1), torch.cat((mask[rows], more >= 0), 1)
    torch.testing.assert_close(found, logits(model, *everything)[:, 7:], **TIGHT)


@pytest.mark.parametrize("family", ["gpt2", "llama", "alibi"])
@pytest.mark.parametrize("last", [True, False])
def test_equal_prompts_are_read_once_and_continued_each_on_its_own(family, last, monkeypatch):
    """Of rows 0 1 0 1 0, padded in front of 1 and of the last: three are read, five go on."""
    model, rows = make(family), torch.tensor([0, 1, 0, 1, 0])
    ids, more = tokens(2, 20)[rows], tokens(5, 4)
    mask = torch.ones(2, 20, dtype=torch.bool)
    mask[1, :3] = False
    mask, seen, hidden = mask[rows], [], model.hidden
    mask[4, :2] = False
    monkeypatch.setattr(
        model, "hidden", lambda x, *a, **k: seen.append(len(x)) or hidden(x, *a, **k)
    )
    reader = IncrementalReader(model, 5, 24)
    first = reader.read(ids, mask, last)
    rest = torch.stack([reader.read(more[:, t : t + 1]) for t in range(4)], 1)
    assert seen[0] == 3
    whole = logits(model, torch.cat((ids, more), 1), torch.cat((mask, more >= 0), 1))
    torch.testing.assert_close(rest, whole[:, 20:], **TIGHT)
    real = mask[:, -1:] if last else mask
    expected = whole[:, 19:20] if last else whole[:, :20]
    torch.testing.assert_close(first.view_as(expected)[real], expected[real], **TIGHT)


@EVERY
def test_after_going_back_another_continuation_is_read_as_if_it_were_the_first(family):
    model, ids, other = make(family), tokens(2, 20), tokens(2, 10)
    mask = torch.ones(2, 20, dtype=torch.bool)
    mask[1, :4] = False
    reader = IncrementalReader(model, 2, 30)
    reader.read(ids, mask)
    reader.rewind(12)
    found = torch.stack([reader.read(other[:, t : t + 1]) for t in range(10)], 1)
    whole = torch.cat((ids[:, :12], other), 1)
    real = torch.cat((mask[:, :12], other >= 0), 1)
    torch.testing.assert_close(found, logits(model, whole, real)[:, 12:], **TIGHT)


def test_a_recurrent_state_goes_back_to_nothing_or_not_at_all():
    model, ids = make("gru"), tokens(1, 5)
    reader = IncrementalReader(model, 1, 9)
    reader.read(ids)
    with pytest.raises(InputError, match="cannot go back from 5 tokens to 3: it keeps no"):
        reader.rewind(3)
    assert reader.length == 5
    reader.rewind(0)
    torch.testing.assert_close(reader.read(ids), logits(model, ids)[:, -1], **TIGHT)


@pytest.mark.parametrize(
    ("ids", "options", "error", "message"),
    [
        (tokens(3, 2), {}, InputError, r"ids have shape \(3, 2\), expected \(2, tokens\)"),
        (tokens(2, 0), {}, InputError, r"ids have shape \(2, 0\)"),
        (tokens(2, 9), {}, InputError, "0 of 8 tokens were read, 9 more do not fit"),
        (tokens(2, 3) + 30, {}, InputError, r"token id \d+ at \[0, 0\] is outside 0..29"),
        (tokens(2, 3), {"mask": torch.ones(2, 3)}, InputTypeError, "mask must be bool"),
        (tokens(2, 3), {"mask": torch.ones(2, 2) > 0}, InputError, r"mask \(2, 2\) must"),
        (
            tokens(2, 3),
            {"mask": torch.tensor([[True] * 3, [False] * 3])},
            InputError,
            "row 1 has no real token among the 3 new ones",
        ),
    ],
)
def test_tokens_that_cannot_be_read_are_refused_and_nothing_changes(
    ids, options, error, message
):
    reader = IncrementalReader(make(), 2, 8)
    with pytest.raises(error, match=message):
        reader.read(ids, **options)
    assert (reader.length, reader.cache.length) == (0, 0)


def test_readers_that_cannot_be_are_refused():
    with pytest.raises(InputError, match="batch=0 must be at least 1"):
        IncrementalReader(make(), 0, 8)
    with pytest.raises(InputError, match="capacity=101 tokens is more than the context 100"):
        IncrementalReader(make(), 1, 101)
    with pytest.raises(InputError, match=r"in training mode: call model\.eval\(\) first"):
        IncrementalReader(make().train(), 1, 8)


def test_rows_and_lengths_that_are_not_there_are_refused():
    reader = IncrementalReader(make(), 2, 8)
    reader.read(tokens(2, 3))
    with pytest.raises(InputError, match="cannot go back to 4 tokens: 3 were read"):
        reader.rewind(4)
    with pytest.raises(InputError, match="rows 0 to 2 are asked for, there are 0 to 1"):
        reader.select(torch.tensor([0, 2]))
    with pytest.raises(InputError, match="give the numbers of one row or more"):
        reader.select(torch.zeros(0, dtype=torch.int64))


WINDOWED = pytest.mark.parametrize("family", ["alibi", "none", "mistral"])


@WINDOWED
@pytest.mark.parametrize("parts", [[33], [1] * 33, [20, 1, 1, 11], [3, 17, *[1] * 13], [6] * 5])
def test_a_sliding_cache_gives_the_logits_of_the_whole_text(family, parts):
    model, ids = make(family), tokens(2, sum(parts))
    reader = IncrementalReader(model, 2, 40, sliding=True)
    found = [reader.read(part, last=False) for part in ids.split(parts, 1)]
    torch.testing.assert_close(torch.cat(found, 1), logits(model, ids), **TIGHT)
    window = model.config.window
    assert reader.cache.layers[0].k.shape[2] == window + window // 4 < 33


@WINDOWED
def test_a_sliding_cache_takes_padding_in_front(family):
    model, ids, mask = make(family), tokens(2, 30), torch.ones(2, 30, dtype=torch.bool)
    mask[0, :4] = False
    reader = IncrementalReader(model, 2, 30, sliding=True)
    found = [reader.read(ids[:, :9], mask[:, :9], last=False)]
    found += [reader.read(ids[:, t : t + 1], last=False) for t in range(9, 30)]
    whole = logits(model, ids, mask)
    torch.testing.assert_close(torch.cat(found, 1)[mask], whole[mask], **TIGHT)


def test_a_sliding_cache_refuses_padding_behind_real_tokens():
    reader, mask = IncrementalReader(make("mistral"), 2, 30, sliding=True), torch.ones(2, 9) > 0
    mask[1, 8] = False
    with pytest.raises(InputError, match=r"row 1 has padding behind .* window of 5; put the"):
        reader.read(tokens(2, 9), mask)
    assert (reader.length, reader.cache.length) == (0, 0)


def test_a_sliding_cache_goes_back_as_far_as_it_can():
    """Six places for a window of five: two are kept beyond the four that token 20 sees."""
    model, ids = make("mistral"), tokens(1, 24)
    reader = IncrementalReader(model, 1, 30, sliding=True)
    for t in range(22):
        reader.read(ids[:, t : t + 1])
    with pytest.raises(InputError, match="cannot go back from 22 tokens to 9: a sliding cache"):
        reader.rewind(9)
    assert reader.length == reader.cache.length == 22
    reader.rewind(21)
    found = reader.read(ids[:, 21:], last=False)
    torch.testing.assert_close(found, logits(model, ids)[:, 21:], **TIGHT)

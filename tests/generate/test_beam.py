import itertools
import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import beam_search

START = torch.tensor([0])


def table_model(table, V):
    """Log-probabilities that a dict gives for each prefix; the even distribution elsewhere."""

    def log_probabilities(ids):
        rows = [table.get(tuple(row[1:]), [1 / V] * V) for row in ids.tolist()]
        return torch.tensor(rows).log()

    return log_probabilities


def random_model(seed, V, longest):
    """A distribution of its own behind every prefix of up to ``longest`` tokens."""
    draw = torch.Generator().manual_seed(seed)
    prefixes = (p for n in range(longest) for p in itertools.product(range(V), repeat=n))
    table = {p: (2 * torch.randn(V, generator=draw)).softmax(0).tolist() for p in prefixes}
    return table_model(table, V)


def all_sequences(V, longest, end):
    """Every sequence that ends with its first ``end``, or is cut off without one."""
    for n in range(1, longest + 1):
        for y in itertools.product(range(V), repeat=n):
            if end not in y[:-1] and (n == longest or y[-1] == end):
                yield y


def log_probability(model, y):
    """Sum over the tokens, each looked up behind its own prefix."""
    ids = [0, *y]
    steps = [model(torch.tensor([ids[: i + 1]]))[0, ids[i + 1]] for i in range(len(y))]
    return sum(x.item() for x in steps)


def exhaustive(model, V, longest, end, length_penalty=0.0):
    scored = [
        (log_probability(model, y) / len(y) ** length_penalty, y)
        for y in all_sequences(V, longest, end)
    ]
    return sorted(scored, reverse=True)


def test_there_are_as_many_sequences_as_counting_says():
    """3 tokens, one of which ends: 1 + 2 + 4 that end, and 4 · 2 that are cut off at 3."""
    assert len(list(all_sequences(3, 3, 2))) == 1 + 2 + 4 + 8


@pytest.mark.parametrize("length_penalty", [0.0, 0.7, 1.0, 2.0])
@pytest.mark.parametrize("end", [0, 2, None])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_with_a_beam_for_every_sequence_the_search_is_exhaustive(seed, end, length_penalty):
    model = random_model(seed, 3, 4)
    found = beam_search(model, START, 4, 3**4, end, length_penalty)
    expected = exhaustive(model, 3, 4, end, length_penalty)
    assert [tuple(y.ids[1:].tolist()) for y in found] == [y for _, y in expected]
    assert [y.score for y in found] == pytest.approx([s for s, _ in expected], rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_one_beam_is_greedy_decoding(seed):
    model, ids = random_model(seed, 5, 4), [0]
    while len(ids) < 5 and ids[-1] != 2:
        ids.append(int(model(torch.tensor([ids])).argmax()))
    (only,) = beam_search(model, START, 4, 1, end=2)
    assert only.ids.tolist() == ids


def by_definition(model, V, longest, beams, end):
    """The search in plain lists: extend all, keep the best, set aside those that end."""
    live, done = [((), 0.0)], []
    for n in range(1, longest + 1):
        options = [
            ((*y, v), log_probability(model, (*y, v))) for y, _ in live for v in range(V)
        ]
        best = sorted(options, key=lambda option: -option[1])[: beams - len(done)]
        done += [o for o in best if o[0][-1] == end or n == longest]
        live = [o for o in best if o not in done]
    return sorted(done, key=lambda option: -option[1])


@pytest.mark.parametrize("beams", [2, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_a_few_beams_find_what_the_definition_says(seed, beams):
    model = random_model(seed, 4, 5)
    found = beam_search(model, START, 5, beams, end=3)
    expected = by_definition(model, 4, 5, beams, 3)
    assert [tuple(y.ids[1:].tolist()) for y in found] == [y for y, _ in expected]
    assert [y.score for y in found] == pytest.approx([s for _, s in expected], rel=1e-12)


def test_a_second_beam_finds_what_greedy_decoding_misses():
    """0.6 · 0.4 = 0.24 begins better than 0.4 · 0.9 = 0.36, and ends worse."""
    table = {(): [0.6, 0.4, 0.0], (0,): [0.4, 0.4, 0.2], (1,): [0.9, 0.1, 0.0]}
    one, two = (beam_search(table_model(table, 3), START, 2, beams)[0] for beams in (1, 2))
    assert (one.ids.tolist(), math.exp(one.score)) == ([0, 0, 0], pytest.approx(0.24))
    assert (two.ids.tolist(), math.exp(two.score)) == ([0, 1, 0], pytest.approx(0.36))


def test_a_wider_beam_may_find_a_worse_sequence():
    """Greedy: 0.5 · 0.4 · 1 = 0.2. Two beams hold 0.21 and 0.2058 after two tokens, drop 0.2,
    and then at most 0.4 of 0.21 is left.
    """
    table = {(): [0.5, 0.42, 0.08], (0,): [0.4, 0.3, 0.3], (1,): [0.5, 0.49, 0.01]}
    table |= {(0, 0): [1.0, 0.0, 0.0], (1, 0): [0.4, 0.3, 0.3], (1, 1): [0.4, 0.3, 0.3]}
    one, two = (beam_search(table_model(table, 3), START, 3, beams)[0] for beams in (1, 2))
    assert math.exp(one.score) == pytest.approx(0.2)
    assert math.exp(two.score) == pytest.approx(0.42 * 0.5 * 0.4)


def test_a_continuation_that_ends_keeps_its_place():
    """Token 2 ends: one of two beams at once, 0.3; the other goes on greedily to (0, 1, 0)."""
    table = {(): [0.7, 0.0, 0.3], (0,): [0.4, 0.5, 0.1], (0, 1): [0.6, 0.4, 0.0]}
    first, second = beam_search(table_model(table, 3), START, 3, 2, end=2)
    assert (first.ids.tolist(), math.exp(first.score)) == ([0, 2], pytest.approx(0.3))
    assert (second.ids.tolist(), math.exp(second.score)) == ([0, 0, 1, 0], pytest.approx(0.21))


def test_nothing_is_asked_of_the_model_when_every_beam_has_ended():
    calls = []

    def always_end(ids):
        calls.append(len(ids))
        return torch.tensor([[0.0, 0.0, 1.0]]).log().expand(len(ids), 3)

    (only,) = beam_search(always_end, START, 50, 4, end=2)
    assert (only.ids.tolist(), only.score, calls) == ([0, 2], 0.0, [1])


def test_equal_continuations_stand_in_the_order_of_their_tokens():
    found = beam_search(table_model({}, 2), START, 2, 3)
    assert [y.ids[1:].tolist() for y in found] == [[0, 0], [0, 1], [1, 0]]


def test_the_length_penalty_decides_between_short_and_long():
    """Token 2 ends: 0.4 in one token, or 0.6 · 0.6 · 0.9 = 0.324 in three, 0.69 for each."""
    table = {(): [0.6, 0.0, 0.4], (0,): [0.6, 0.4, 0.0], (0, 0): [0.1, 0.0, 0.9]}
    short, long = (beam_search(table_model(table, 3), START, 3, 3, 2, a)[0] for a in (0, 1))
    assert (short.ids.tolist(), math.exp(short.score)) == ([0, 2], pytest.approx(0.4))
    assert long.ids.tolist() == [0, 0, 0, 2]
    assert math.exp(long.score) == pytest.approx(0.324 ** (1 / 3))


def test_the_start_is_part_of_the_ids_and_not_of_the_score():
    found = beam_search(table_model({}, 3), torch.tensor([0, 2, 1]), 1, 1)
    assert found[0].ids.tolist() == [0, 2, 1, 0]
    assert found[0].score == pytest.approx(math.log(1 / 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens=0 must be at least 1"),
        ({"beams": 0}, "beams=0 must be at least 1"),
        ({"end": -1}, "end=-1 is no token"),
        ({"end": 3}, r"gave shape \(1, 3\) for 1 rows of ids; expected \(1, V > end=3\)"),
        ({"length_penalty": math.nan}, "length_penalty=nan must be finite"),
        ({"start": torch.zeros(1, 2, dtype=torch.long)}, r"start has shape \(1, 2\)"),
        ({"start": torch.zeros(0, dtype=torch.long)}, r"start has shape \(0,\)"),
    ],
)
def test_searches_that_make_no_sense_are_refused(options, message, unchecked):
    given = {"start": START, "max_new_tokens": 2, "beams": 2} | options
    with pytest.raises(InputError, match=message):
        beam_search(table_model({}, 3), **given)


def test_a_start_that_is_no_token_is_refused(unchecked):
    with pytest.raises(InputTypeError, match="start must be int64, got float64"):
        beam_search(table_model({}, 3), torch.zeros(1), 2, 2)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (torch.zeros(1, 3), "row 0 sum to 3, not 1: give log_softmax"),
        (torch.tensor([[0.0, math.nan]]), "row 0 sum to nan, not 1"),
        (torch.full((1, 3), -math.inf), "row 0 sum to 0, not 1"),
        (torch.zeros(2, 1), r"gave shape \(2, 1\) for 1 rows of ids; expected \(1, V\)"),
        (torch.zeros(1), r"gave shape \(1,\) for 1 rows"),
    ],
)
def test_what_is_no_distribution_is_refused(answer, message, unchecked):
    with pytest.raises(InputError, match=message):
        beam_search(lambda ids: answer, START, 2, 2)


def test_single_precision_is_close_enough_to_a_distribution():
    logp = torch.randn(1, 5000, dtype=torch.float32).log_softmax(-1)
    assert beam_search(lambda ids: logp.expand(len(ids), 5000), START, 2, 3)[0].ids.shape == (
        3,
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [([[0.0]], "gave a list, expected"), (torch.zeros(1, 1).long(), "gave torch.int64, expe")],
)
def test_log_probabilities_are_floating_point_numbers(answer, message, unchecked):
    with pytest.raises(InputTypeError, match=message):
        beam_search(lambda ids: answer, START, 2, 2)


def test_the_token_that_ends_is_one_id(unchecked):
    with pytest.raises(InputTypeError, match=r"end=\[1\] must be an integer"):
        beam_search(table_model({}, 3), START, 2, 2, end=[1])

"""What heads look at: by hand on weights of three or four tokens, and on made heads."""

import math

import pytest
import torch

from lab.interpretability.induction_by_hand import induction_by_hand
from mathlm.adapt import add_prefix, add_prompt, remove_adapters
from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import (
    attention_entropy,
    diagonal_score,
    first_token_score,
    head_scores,
    induction_score,
    mean_distance,
    previous_token_score,
    record,
    repeated_ids,
)
from mathlm.models import GPT, GPTConfig

A = torch.tensor([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0], [0.5, 0.3, 0.2]])
SCORES = [
    previous_token_score, diagonal_score, first_token_score, attention_entropy, mean_distance,
]  # fmt: skip


def test_scores_of_three_tokens_by_hand():
    """Rows of positions 1 and 2; the row of position 0, which could be no other, is left out.

    Previous (0.25 + 0.3) / 2, own (0.75 + 0.2) / 2, first (0.25 + 0.5) / 2, distance
    (0.25 · 1 + 0.5 · 2 + 0.3 · 1) / 2.
    """
    found = torch.stack([f(A.double()) for f in SCORES if f is not attention_entropy])
    torch.testing.assert_close(found, torch.tensor([0.275, 0.475, 0.375, 0.775]))


def test_the_entropy_of_an_even_row_is_the_logarithm_of_its_length():
    """Position 1 spreads over 2 tokens, position 2 over 3: (ln 2 + ln 3) / 2. Certain: 0."""
    even = torch.ones(3, 3).tril() / torch.tensor([[1.0], [2.0], [3.0]])
    expected = (math.log(2) + math.log(3)) / 2
    assert attention_entropy(even).item() == pytest.approx(expected, rel=1e-12)
    certain = attention_entropy(torch.eye(3))
    assert certain.item() == 0.0
    assert math.copysign(1.0, certain.item()) == 1.0


@pytest.mark.parametrize(
    ("score", "weights"),
    [
        (previous_token_score, torch.eye(5).roll(-1, 1).tril(-1) + torch.eye(5)[0].diag()),
        (diagonal_score, torch.eye(5)),
        (first_token_score, torch.eye(5)[0].expand(5, 5)),
    ],
    ids=["previous", "diagonal", "first"],
)
def test_a_head_that_does_one_thing_scores_one_for_it(score, weights):
    assert score(weights).item() == 1.0
    others = {previous_token_score, diagonal_score, first_token_score} - {score}
    assert all(other(weights).item() <= 0.25 for other in others)


def test_the_last_queries_score_as_in_the_whole():
    """With a cache there are fewer queries than keys; the last one stands at the last key."""
    weights = torch.rand(2, 6, 6).tril() + 1e-3 * torch.ones(6, 6).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    for score in SCORES:
        last, whole = score(weights[:, 4:]), score(weights)
        by_row = [score(weights[:, t : t + 1, : t + 1]) for t in range(1, 6)]
        torch.testing.assert_close(whole, torch.stack(by_row).mean(0))
        torch.testing.assert_close(last, torch.stack(by_row[3:]).mean(0))


def test_the_induction_score_of_a_repeated_text_by_hand():
    """Text 7 8 9 7 8: query 3 should look at key 1, query 4 at key 2: (0.5 + 0.3) / 2."""
    weights = torch.eye(5).repeat(1, 2, 1, 1)
    weights[0, 0, 3] = torch.tensor([0.2, 0.5, 0.2, 0.1, 0.0])
    weights[0, 0, 4] = torch.tensor([0.1, 0.1, 0.3, 0.4, 0.1])
    found = induction_score(weights, torch.tensor([[7, 8, 9, 7, 8]]))
    torch.testing.assert_close(found, torch.tensor([[0.4, 0.0]]))


def test_several_earlier_copies_count_together_and_the_token_before_does_not():
    """Text 5 6 5 5: query 2 → key 1; query 3 → keys 1 and (its own place, which is not) 3."""
    weights = torch.tensor([[
        [1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.1, 0.6, 0.3, 0.0], [0.1, 0.2, 0.3, 0.4],
    ]])  # fmt: skip
    found = induction_score(weights, torch.tensor([[5, 6, 5, 5]]))
    assert found.item() == pytest.approx((0.6 + 0.2) / 2, rel=1e-12)


def test_a_head_made_for_induction_scores_one_on_a_repeated_sequence():
    ids = repeated_ids(vocab_size=100, length=10, batch=3)
    weights = torch.eye(20).repeat(3, 1, 1)
    weights[:, 10:] = 0.0
    weights[:, range(10, 20), range(1, 11)] = 1.0
    assert torch.equal(induction_score(weights, ids), torch.ones(3))
    assert previous_token_score(weights).max() < 0.1


def test_a_repeated_sequence_is_random_and_repeats_once():
    ids = repeated_ids(vocab_size=50, length=50, batch=2, seed=3)
    assert torch.equal(ids[:, :50], ids[:, 50:])
    assert torch.equal(ids[:, :50].sort(-1).values, torch.arange(50).expand(2, 50))
    assert not torch.equal(ids[0], ids[1])
    assert torch.equal(ids, repeated_ids(50, 50, 2, 3))
    assert not torch.equal(ids, repeated_ids(50, 50, 2, 4))


def small(**changes):
    sizes = {"vocab_size": 30, "context": 20, "d_model": 8, "n_layers": 3, "n_heads": 4}
    return GPT(GPTConfig(**sizes | changes))


def test_head_scores_are_those_of_the_recorded_weights():
    model, ids = small(n_kv_heads=2, position="rope"), repeated_ids(30, 8, 2)
    tables, taps = head_scores(model, ids), record(model, ids)
    names = ["previous_token", "first_token", "diagonal", "entropy", "distance", "induction"]
    assert list(tables) == names
    weights = taps["blocks.2.attention.weights"]
    expected = induction_score(weights, ids).mean(0)[1]
    assert tables["induction"].shape == (3, 4)
    assert tables["induction"][2, 1] == expected
    assert tables["entropy"][2, 3] == attention_entropy(weights).mean(0)[3]


def test_a_text_that_repeats_nothing_has_no_induction_score():
    assert "induction" not in head_scores(small(), torch.arange(10)[None])


def test_there_is_an_even_spread_before_training():
    """With all queries zero every weight of position p is 1 / (p + 1)."""
    model, ids = small(), torch.arange(8)[None]
    for block in model.blocks:
        torch.nn.init.zeros_(block.attention.W_q.weight)
    tables = head_scores(model, ids)
    expected = sum(1 / (p + 1) for p in range(1, 8)) / 7
    for name in ("first_token", "diagonal", "previous_token"):
        torch.testing.assert_close(tables[name], torch.full((3, 4), expected))


@pytest.mark.parametrize("score", SCORES)
def test_weights_that_are_no_distributions_are_refused(score):
    with pytest.raises(InputError, match=r"must sum to 1, one is off by 1"):
        score(torch.zeros(2, 3, 3))
    with pytest.raises(InputError, match=r"must sum to 1, one is off by nan"):
        score(A * torch.nan)
    with pytest.raises(InputError, match=r"must not be negative, the least is -0.5"):
        score(torch.tensor([[1.0, 0.0], [1.5, -0.5]]))
    with pytest.raises(InputError, match=r"\(1, 1\) have 1 queries and 1 keys"):
        score(torch.ones(1, 1))
    with pytest.raises(InputError, match=r"no more|more queries than keys"):
        score(torch.ones(3, 2) / 2)
    with pytest.raises(InputError, match=r"\(0, 3, 3\) must be"):
        score(torch.zeros(0, 3, 3))


@pytest.mark.usefixtures("unchecked")
def test_weights_that_are_no_numbers_are_refused():
    with pytest.raises(InputTypeError, match="floating dtype, got int64"):
        diagonal_score(torch.eye(3).long())
    with pytest.raises(InputTypeError, match="must be a tensor, got ndarray"):
        diagonal_score(torch.eye(3).numpy())


@pytest.mark.usefixtures("unchecked")
def test_ids_that_are_no_whole_numbers_are_refused():
    eye, ids = torch.eye(4)[None], torch.tensor([[1, 2, 1, 2]])
    for wrong, found in (
        (ids.float(), "float32"),
        (ids.bool(), "bool"),
        (ids.tolist(), "list"),
    ):
        with pytest.raises(InputTypeError, match=f"ids must be an int64 tensor, got {found}"):
            induction_score(eye, wrong)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ["vocab_size", "length", "batch", "seed"])
def test_sizes_that_are_no_integers_are_refused(name):
    with pytest.raises(InputTypeError, match=f"{name}=2.5 must be an integer"):
        repeated_ids(**{"vocab_size": 9, "length": 3, name: 2.5})


def test_ids_that_do_not_fit_the_weights_are_refused():
    eye = torch.eye(4).repeat(2, 1, 1)
    with pytest.raises(InputError, match=r"ids \(2, 3\) must be \(2, 4\)"):
        induction_score(eye, torch.zeros(2, 3).long())
    with pytest.raises(InputError, match=r"row 1 of ids has no token that came"):
        induction_score(eye, torch.tensor([[1, 2, 1, 2], [1, 2, 3, 3]]))


@pytest.mark.parametrize(("vocab", "length", "batch"), [(5, 6, 1), (5, 1, 1), (5, 5, 0)])
def test_a_repeated_sequence_that_cannot_be_is_refused(vocab, length, batch):
    with pytest.raises(InputError, match=rf"length={length} .*vocab_size=5, batch={batch}"):
        repeated_ids(vocab, length, batch)


def test_a_head_that_is_told_where_to_look_is_lost_without_the_one_that_tells_it():
    """The circuit by hand: head (1, 0) looks for what head (0, 0) wrote, and no other does."""
    model, ids = induction_by_hand(), torch.tensor([[0, 5, 3, 7, 5, 3, 7, 5]])
    scores = {gone: head_scores(model, ids, gone)["induction"] for gone in (((0, 0),), ())}
    assert scores[()][1, 0] > 0.999
    assert scores[((0, 0),)][1, 0] < 0.001
    silent = head_scores(model, ids, [(0, 1), (1, 1)])["induction"]
    torch.testing.assert_close(silent, scores[()])


def test_a_prefix_among_the_keys_is_refused_and_one_beside_them_is_not():
    model = GPT(
        GPTConfig(vocab_size=20, context=16, d_model=8, n_layers=2, n_heads=2, position="rope")
    ).eval()
    ids = repeated_ids(20, 4)
    before = head_scores(model, ids)
    for add in (lambda: add_prefix(model, 3, gated=False), lambda: add_prompt(model, 3)):
        add()
        with pytest.raises(InputError, match=r"prefix or a prompt .* remove_adapters\(model\)"):
            head_scores(model, ids)
        remove_adapters(model)
    gated = head_scores(add_prefix(model, 3, gated=True), ids)  # its gates are 0 at first
    for name, table in before.items():
        torch.testing.assert_close(gated[name], table)

import itertools
import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import draw, keep_top_k, keep_top_p, token_probabilities

PROPERTY = settings(deadline=None, derandomize=True, max_examples=80)
logit_lists = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(-30, 30)), min_size=1, max_size=8
)


def ranking(values):
    """Ids from the largest value down; of equal ones the lowest id first."""
    return sorted(range(len(values)), key=lambda i: (-values[i], i))


def smallest_prefix(p, mass):
    kept, total = set(), 0.0
    for i in ranking(p):
        kept.add(i)
        total += p[i]
        if total >= mass:
            break
    return kept


@PROPERTY
@example([0.0, 0.0, 0.0, 0.0], 0.5)
@example([0.0, 0.0], 0.0)
@example([0.0, 1.0, 2.0], 1.0)
@given(logit_lists, st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])))
def test_top_p_keeps_the_smallest_prefix_that_reaches_the_mass(logits, mass):
    p = torch.tensor(logits, dtype=torch.float64).softmax(-1)
    kept = set(keep_top_p(p, mass).nonzero().flatten().tolist())
    assert kept == smallest_prefix(p.tolist(), mass)


@PROPERTY
@given(logit_lists, st.integers(1, 10))
def test_top_k_keeps_the_k_largest(logits, k):
    kept = keep_top_k(torch.tensor(logits, dtype=torch.float64), k).nonzero().flatten()
    assert set(kept.tolist()) == set(ranking(logits)[:k])


@PROPERTY
@given(
    logit_lists,
    st.floats(0.1, 5),
    st.one_of(st.none(), st.integers(1, 10)),
    st.one_of(st.none(), st.floats(0, 1)),
)
def test_probabilities_follow_the_order_temperature_top_k_top_p(logits, temperature, k, mass):
    scaled = [(z - max(logits)) / temperature for z in logits]
    kept = set(ranking(scaled)[: k or len(scaled)])
    p = [math.exp(z) if i in kept else 0.0 for i, z in enumerate(scaled)]
    p = torch.tensor([x / sum(p) for x in p], dtype=torch.float64)
    found = token_probabilities(
        torch.tensor(logits, dtype=torch.float64), temperature, top_k=k, top_p=mass
    )
    assert abs(found.sum().item() - 1) <= 1e-12
    if mass is not None:
        p = p * (found > 0)  # which tokens top-p keeps is decided above, without rounding
        p = p / p.sum()
    torch.testing.assert_close(found, p, rtol=1e-10, atol=1e-300)


def test_temperature_comes_before_top_p():
    """By hand: 1/2, 1/4, 1/4 at T = 1; sharpened by T = 1/2 to 2/3, 1/6, 1/6."""
    logits = torch.tensor([2.0, 1.0, 1.0]).log()
    assert (token_probabilities(logits, 1.0, top_p=0.6) > 0).tolist() == [True, True, False]
    assert (token_probabilities(logits, 0.5, top_p=0.6) > 0).tolist() == [True, False, False]


def test_top_k_comes_before_top_p():
    """By hand: of 0.4, 0.3, 0.3 the first two are 4/7 and 3/7: the first alone reaches 0.5."""
    logits = torch.tensor([0.4, 0.3, 0.3]).log()
    assert (token_probabilities(logits, top_p=0.5) > 0).tolist() == [True, True, False]
    assert (token_probabilities(logits, top_k=2, top_p=0.5) > 0).tolist() == [
        True,
        False,
        False,
    ]


def test_temperature_zero_takes_the_lowest_of_the_likeliest_ids():
    logits = torch.tensor([[0.0, 3.0, 1.0, 3.0], [5.0, 5.0, 5.0, 5.0]])
    p = token_probabilities(logits, 0.0, top_k=3, top_p=0.9)
    assert p.tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]
    for u in (0.0, 0.5, 1 - 2**-53):
        assert draw(p, torch.tensor([u, u])).tolist() == [1, 0]


def test_a_small_temperature_does_not_overflow():
    p = token_probabilities(torch.tensor([1e4, -1e4, 9999.0]), 1e-3)
    assert p.tolist() == [1.0, 0.0, 0.0]


def test_half_precision_is_taken_in_float32():
    p = token_probabilities(torch.randn(3, 1000).bfloat16(), 0.7, top_k=50, top_p=0.9)
    assert p.dtype == torch.float32
    torch.testing.assert_close(p.sum(-1), torch.ones(3, dtype=torch.float32), rtol=1e-6, atol=0)


def test_a_draw_is_the_token_in_whose_interval_u_falls():
    p = torch.tensor([0.0, 0.25, 0.0, 0.5, 0.25, 0.0]).expand(5, 6)
    u = torch.tensor([0.0, 0.2499, 0.25, 0.7499, 0.75])
    assert draw(p, u).tolist() == [1, 1, 3, 3, 4]


@PROPERTY
@given(
    logit_lists,
    st.floats(0, 1, exclude_max=True),
    st.sampled_from([torch.float32, torch.float64]),
)
def test_a_draw_never_takes_a_token_of_probability_zero(logits, u, dtype):
    u = min(u, 1 - 2**-24)  # the largest float32 below 1
    p = token_probabilities(torch.tensor([logits], dtype=dtype), top_p=0.6)
    token = draw(p, torch.tensor([u], dtype=dtype)).item()
    assert p[0, token] > 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_draw_in_half_precision_takes_u_and_the_sums_as_they_are(dtype):
    """0.999 is 1 in bfloat16; sums of 4096 times 1/4096 stop at 2⁻¹² · 2¹¹ or before."""
    p = torch.full((4096,), 1 / 4096, dtype=dtype)
    for u in (0.25, 0.75, 0.9999):
        assert draw(p, torch.tensor(u)) == int(4096 * u)


def test_a_draw_from_the_least_probability_stays_in_the_vocabulary():
    """0.9 · 2⁻¹⁴⁹ is 2⁻¹⁴⁹ again, beyond the only token."""
    p = torch.tensor([2.0**-149, 0, 0], dtype=torch.float32)
    assert draw(p, torch.tensor(0.9, dtype=torch.float32)) == 0


def test_draws_at_even_distances_come_in_proportion():
    p = torch.tensor([0.1, 0.2, 0.3, 0.4])
    u = (torch.arange(1000) + 0.5) / 1000
    counts = draw(p.expand(1000, 4), u).bincount(minlength=4)
    assert counts.tolist() == [100, 200, 300, 400]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.1}, r"temperature=-0\.1 must be finite and not negative"),
        ({"temperature": math.nan}, "temperature=nan"),
        ({"temperature": math.inf}, "temperature=inf"),
        ({"top_k": 0}, "top_k=0 must be at least 1"),
        ({"top_p": -0.1}, r"top_p=-0\.1 is outside"),
        ({"top_p": 1.1}, r"top_p=1\.1 is outside"),
        ({"min_p": 1.1}, r"min_p=1\.1 is outside"),
        ({"typical_p": -1.0}, r"typical_p=-1\.0 is outside"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        token_probabilities(torch.zeros(3), **options)


RULES = [{"top_k": 2}, {"top_p": 0.7}, {"min_p": 0.5}, {"typical_p": 0.8}]


def test_each_rule_sees_what_the_one_before_it_left():
    """One call with all options is one call for each, in their order."""
    logits = torch.randn(50, 9)
    p = token_probabilities(logits, 0.8, top_k=6, top_p=0.9, min_p=0.2, typical_p=0.7)
    rules = ({"top_k": 6}, {"top_p": 0.9}, {"min_p": 0.2}, {"typical_p": 0.7})
    expected = in_turn(logits, {"temperature": 0.8}, *rules)
    torch.testing.assert_close(p, expected, rtol=1e-12, atol=0)


PAIRS = list(itertools.combinations(RULES, 2))


@pytest.mark.parametrize(("first", "later"), PAIRS)
def test_of_two_rules_the_first_is_the_first(first, later):
    """Tested where the other order gives something else, which some logits always do."""
    logits = 2 * torch.randn(300, 5)
    both = token_probabilities(logits, **first, **later)
    torch.testing.assert_close(both, in_turn(logits, first, later), rtol=1e-12, atol=0)
    other = in_turn(logits, later, first) > 0
    assert torch.equal(both > 0, other) == ((first, later) == (RULES[0], RULES[2]))


def in_turn(logits, *rules):
    """Each rule alone; top-k and min-p commute, since neither hears of the sum."""
    for rule in rules:
        logits = token_probabilities(logits, **rule).log()
    return logits.exp()


@pytest.mark.parametrize("rule", [{}, {"top_k": 3}, *RULES[1:]])
@pytest.mark.parametrize("temperature", [0, 1e-300, 1.0, 1e300])
def test_extreme_logits_give_a_distribution(rule, temperature):
    for logits in ([1e300, -1e300, 0.0, 1.0], [-math.inf, 0.0, -math.inf, 0.0], [7.0] * 4):
        p = token_probabilities(torch.tensor(logits), temperature, **rule)
        assert abs(p.sum().item() - 1) <= 1e-12
        assert (p >= 0).all()


def test_a_token_that_cannot_come_never_does():
    logits = torch.tensor([0.0, -math.inf, -1.0])
    for options in ({}, {"top_k": 3}, {"top_p": 1.0}, {"typical_p": 1.0}, {"min_p": 0.0}):
        assert token_probabilities(logits, 2.0, **options)[1] == 0


@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([0.0, math.nan, 1.0], "1 of 3 logits are NaN"),
        ([0.0, math.inf, 1.0], r"1 of 3 logits are \+inf"),
        ([[0.0, 1.0], [-math.inf, -math.inf]], "no token can come in row 1"),
        ([], r"logits have shape \(0,\)"),
    ],
)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_no_softmax_has_are_refused(logits, message, temperature):
    with pytest.raises(InputError, match=message):
        token_probabilities(torch.tensor(logits), temperature)


def test_logits_that_are_integers_are_refused(unchecked):
    with pytest.raises(InputTypeError, match="must be floating-point numbers, got int64"):
        token_probabilities(torch.tensor([1, 2, 3]))


def test_large_logits_whose_sum_overflows_are_taken():
    p = token_probabilities(torch.full((4, 2), 1e308))
    assert p.tolist() == [[0.5, 0.5]] * 4


def test_a_temperature_that_rounds_to_zero_is_refused():
    for dtype, temperature in ((torch.float32, 1e-46), (torch.float64, 1e-320)):
        with pytest.raises(InputError, match=f"temperature={temperature} is 0 in {dtype}"):
            token_probabilities(torch.zeros(3, dtype=dtype), temperature)


def test_penalties_that_make_logits_infinite_are_named():
    written, logits = torch.tensor([0]), torch.tensor([5.0, 1.0], dtype=torch.float32)
    for options in ({"repetition_penalty": 1e-300}, {"presence_penalty": -1e300}):
        with pytest.raises(InputError, match=r"make logits infinite in torch\.float32"):
            token_probabilities(logits, **options, written=written)


def test_no_rows_are_no_distributions():
    for options in ({}, {"top_k": 1}, {"top_p": 0.5}, {"temperature": 0.0}):
        assert token_probabilities(torch.zeros(0, 3), **options).shape == (0, 3)


@pytest.mark.parametrize(
    ("p", "u", "message"),
    [
        (torch.tensor([-0.5, 1.5]), torch.tensor(0.5), r"p has an entry -0\.5, less than 0"),
        (torch.ones(2, 3), torch.tensor(0.5), r"u has shape \(\), expected \(2,\)"),
        (torch.ones(2, 3), torch.rand(3), r"u has shape \(3,\), expected \(2,\)"),
    ],
)
def test_draws_that_do_not_fit_are_refused(unchecked, p, u, message):
    with pytest.raises(InputError, match=message):
        draw(p, u)


@pytest.mark.parametrize(
    ("p", "u"), [([0.0, 0.0], 0.5), ([math.nan, 1.0], 0.5), ([0.5, 0.5], 1.0), ([1.0], -0.1)]
)
def test_draws_that_make_no_sense_are_refused(p, u):
    with pytest.raises(InputError, match="give rows with a positive sum, and 0 ≤ u < 1"):
        draw(torch.tensor(p), torch.tensor(u))

import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import penalize_counts, penalize_repetition, token_probabilities

LOGITS = torch.tensor([2.0, -2.0, 0.0, 3.0], dtype=torch.float64)


def test_repetition_divides_positive_and_multiplies_negative_logits():
    """By hand, r = 2: 2 → 1, −2 → −4, 0 → 0; 3 was not there."""
    found = penalize_repetition(LOGITS, torch.tensor([0, 1, 2]), 2.0)
    assert found.tolist() == [1, -4, 0, 3]


def test_repetition_counts_each_token_once():
    once = penalize_repetition(LOGITS, torch.tensor([3, 1]), 1.7)
    assert torch.equal(penalize_repetition(LOGITS, torch.tensor([1, 3, 3, 1, 3]), 1.7), once)


def test_a_penalty_below_one_rewards():
    found = penalize_repetition(LOGITS, torch.tensor([0, 1]), 0.5)
    assert found.tolist() == [4, -1, 0, 3]


def test_presence_is_taken_once_and_frequency_each_time():
    """By hand: token 0 occurs three times, token 3 once: 2 − ½ − ¾ and 3 − ½ − ¼."""
    found = penalize_counts(LOGITS, torch.tensor([0, 3, 0, 0]), 0.5, 0.25)
    assert found.tolist() == [0.75, -2, 0, 2.25]


def test_a_token_has_one_gradient_however_often_it_occurs():
    """By hand: 2 / 2 and 2 · −2 have slopes ½ and 2; a term that is taken away, slope 1."""
    ids = torch.tensor([0, 0, 0, 1, 1])
    for penalize, slopes in (
        (lambda z: penalize_repetition(z, ids, 2.0), [0.5, 2, 1, 1]),
        (lambda z: penalize_counts(z, ids, 0.5, 0.25), [1, 1, 1, 1]),
    ):
        z = LOGITS.clone().requires_grad_()
        penalize(z).sum().backward()
        assert z.grad.tolist() == slopes


def test_rows_are_penalized_for_their_own_tokens():
    logits = torch.zeros(2, 3)
    found = penalize_counts(logits, torch.tensor([[0, 0], [1, 2]]), 1.0, 1.0)
    assert found.tolist() == [[-3, 0, 0], [0, -2, -2]]
    assert not logits.any()  # the argument is left as it was


def test_without_tokens_nothing_changes():
    none = torch.zeros(0, dtype=torch.long)
    assert torch.equal(penalize_repetition(LOGITS, none, 3.0), LOGITS)
    assert torch.equal(penalize_counts(LOGITS, none, 3.0, 3.0), LOGITS)


def test_penalties_come_before_the_temperature():
    """By hand: 4 / 2 = 2 beside 3; at T = ½ they are 4 and 6. After the temperature it would
    be 8 / 2 = 4 beside 6 too, but the term of presence would be 1, not 1 / T = 2."""
    logits, written = torch.tensor([4.0, 3.0]), torch.tensor([0])
    options = {"repetition_penalty": 2.0, "presence_penalty": 1.0, "written": written}
    p = token_probabilities(logits, 0.5, **options)
    torch.testing.assert_close(p, torch.tensor([2.0, 6.0]).softmax(-1))


def test_penalties_come_before_every_rule_that_keeps_tokens():
    logits, written = torch.tensor([4.0, 3.0, 0.0]), torch.tensor([0])
    for rule in ({"top_k": 1}, {"top_p": 0.5}, {"min_p": 0.9}, {"typical_p": 0.1}):
        p = token_probabilities(logits, presence_penalty=4.5, written=written, **rule)
        assert p.tolist() == [0, 1, 0], rule


def test_the_likeliest_token_is_taken_after_penalties():
    logits, prompt = torch.tensor([4.0, 3.0]), torch.tensor([0])
    assert token_probabilities(logits, 0, repetition_penalty=2, prompt=prompt)[1] == 1


def test_presence_and_frequency_do_not_count_the_prompt():
    logits, prompt = torch.randn(5), torch.tensor([0, 1])
    options = {"presence_penalty": 2.0, "frequency_penalty": 2.0, "prompt": prompt}
    assert torch.equal(token_probabilities(logits, **options), logits.softmax(-1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repetition_penalty": 0.0}, r"repetition_penalty=0\.0 must be .* more than 0"),
        ({"repetition_penalty": -1}, "repetition_penalty=-1"),
        ({"repetition_penalty": math.inf}, "repetition_penalty=inf must be finite"),
        ({"presence_penalty": math.nan}, "presence_penalty=nan must be finite"),
        ({"frequency_penalty": -math.inf}, "frequency_penalty=-inf must be finite"),
        ({"repetition_penalty": 1.2}, "penalties need the tokens so far"),
        ({"frequency_penalty": 1.2}, "penalties need the tokens so far"),
    ],
)
def test_penalties_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        token_probabilities(torch.zeros(3), **options)


def test_tokens_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"token id 4 at \[1\] is outside 0\.\.3"):
        penalize_repetition(LOGITS, torch.tensor([0, 4]), 2.0)
    with pytest.raises(InputTypeError, match="token ids must be int64"):
        penalize_counts(LOGITS, torch.tensor([0, 1], dtype=torch.int32), 2.0)


def test_tokens_of_other_rows_are_refused(unchecked):
    with pytest.raises(InputError, match=r"ids \(3, 1\) and logits \(2, 4\)"):
        penalize_counts(LOGITS.expand(2, 4), torch.zeros(3, 1, dtype=torch.long), 2.0)

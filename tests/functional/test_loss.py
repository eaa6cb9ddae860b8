import itertools
import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import cross_entropy, token_cross_entropy

V = 5
WEIGHT = torch.tensor([0.5, 2.0, 0.0, 1.0, 3.0], dtype=torch.float64)
CASES = pytest.mark.parametrize(
    ("label_smoothing", "weight"), list(itertools.product([0.0, 0.1, 1.0], [None, WEIGHT]))
)
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


@pytest.fixture
def batch():
    targets = torch.tensor([[1, -100, 4], [0, 3, -100]])
    return torch.randn(2, 3, V) * 3, targets


def by_loops(logits, targets, label_smoothing, weight):
    """Loss of each target with Python floats; None where it does not count."""
    losses = []
    for row, y in zip(logits.reshape(-1, V).tolist(), targets.flatten().tolist(), strict=True):
        total = math.log(sum(math.exp(z) for z in row))
        w = [1.0] * V if weight is None else weight.tolist()
        nll = [w[c] * (total - row[c]) for c in range(V)]
        smooth = sum(nll) / V
        losses.append(
            None if y < 0 else (1 - label_smoothing) * nll[y] + label_smoothing * smooth
        )
    return losses


@CASES
def test_loss_of_each_target_matches_loops(label_smoothing, weight, batch):
    ours = token_cross_entropy(*batch, label_smoothing=label_smoothing, weight=weight)
    expected = [x or 0.0 for x in by_loops(*batch, label_smoothing, weight)]
    torch.testing.assert_close(ours, torch.tensor(expected).view(2, 3), **TIGHT)


@CASES
def test_sum_and_count_match_loops(label_smoothing, weight, batch):
    options = {"label_smoothing": label_smoothing, "weight": weight}
    loss, count = cross_entropy(*batch, **options)
    expected = [x for x in by_loops(*batch, label_smoothing, weight) if x is not None]
    assert loss.item() == pytest.approx(sum(expected), rel=1e-12)
    assert count == (4 if weight is None else 2.0 + 3.0 + 0.5 + 1.0)


@CASES
def test_sum_over_count_is_the_mean_of_torch(label_smoothing, weight, batch):
    options = {"label_smoothing": label_smoothing, "weight": weight}
    loss, count = cross_entropy(*batch, **options)
    theirs = torch.nn.functional.cross_entropy(batch[0].mT, batch[1], **options)
    torch.testing.assert_close(loss / count, theirs, **TIGHT)


@CASES
def test_rows_that_do_not_count_change_no_digit(label_smoothing, weight):
    options = {"label_smoothing": label_smoothing, "weight": weight}
    logits, targets = torch.randn(37, V), torch.randint(V, (37,))
    more = torch.cat((torch.randn(50, V), logits, torch.randn(13, V)))
    marked = torch.cat((torch.full((50,), -100), targets, torch.full((13,), -100)))
    short, long = (
        cross_entropy(logits, targets, **options),
        cross_entropy(more, marked, **options),
    )
    assert torch.equal(short[0], long[0])
    assert short[1] == long[1]


def test_gradient_is_probability_minus_one_hot_and_zero_where_ignored(batch):
    logits, targets = batch[0].requires_grad_(), batch[1]
    (gradient,) = torch.autograd.grad(cross_entropy(logits, targets)[0], logits)
    counts = targets != -100
    one_hot = torch.nn.functional.one_hot(targets[counts], V)
    torch.testing.assert_close(gradient[counts], logits.softmax(-1)[counts] - one_hot, **TIGHT)
    assert (gradient[~counts] == 0).all()


def test_no_targets_at_all_are_an_error():
    with pytest.raises(InputError, match="no target token contributes to the loss"):
        cross_entropy(torch.randn(2, V), torch.full((2,), -100))


@CASES
def test_no_targets_at_all_can_count_as_zero_with_gradient_zero(label_smoothing, weight):
    logits = torch.randn(2, V, requires_grad=True)
    targets = torch.full((2,), -100)
    loss, count = cross_entropy(
        logits, targets, label_smoothing=label_smoothing, weight=weight, empty="zero"
    )
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (loss.item(), count) == (0.0, 0)
    assert (gradient == 0).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_logits_give_a_float32_loss(dtype):
    logits, targets = (torch.randn(64, 1000) * 5).to(dtype), torch.randint(1000, (64,))
    loss, count = cross_entropy(logits, targets)
    exact = cross_entropy(logits.double(), targets)[0]
    assert loss.dtype == torch.float32
    assert (loss / count).item() == pytest.approx((exact / count).item(), rel=1e-5)


def test_weights_of_another_precision_take_that_of_the_logits():
    logits, targets = torch.randn(4, V).bfloat16(), torch.tensor([0, 1, 3, 4])
    found = token_cross_entropy(logits, targets, weight=WEIGHT)
    expected = token_cross_entropy(logits.double(), targets, weight=WEIGHT)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)


def test_a_vocabulary_of_one_token_has_no_surprise():
    loss, count = cross_entropy(torch.ones(2, 1), torch.tensor([0, -100]))
    assert (loss.item(), count) == (0, 1)


def test_huge_and_tiny_logits_in_one_batch_are_finite():
    logits = torch.tensor([[1e4, 0.0], [1e-4, 0.0]])
    ours = token_cross_entropy(logits, torch.tensor([1, 0]))
    assert ours[0].item() == 1e4
    assert ours[1].item() == pytest.approx(math.log1p(math.exp(-1e-4)), rel=1e-12)


@pytest.mark.parametrize("mark", [-7, V])
def test_another_mark_than_minus_100_may_be_chosen(batch, mark):
    logits, targets = batch
    other = targets.masked_fill(targets == -100, mark)
    assert torch.equal(cross_entropy(logits, other, mark)[0], cross_entropy(logits, targets)[0])


@pytest.mark.parametrize(
    ("targets", "options", "error", "message"),
    [
        ([1, 5], {}, InputError, r"target 5 at \[1\] is outside 0\.\.4"),
        ([-1, 2], {}, InputError, r"target -1 at \[0\] is outside 0\.\.4"),
        ([1.0, 2.0], {}, InputTypeError, "targets must be int64, got float64"),
        ([1, 2, 3], {}, InputError, r"logits \(2, 5\) and targets \(3,\) do not fit"),
        ([1, 2], {"label_smoothing": 1.5}, InputError, "label_smoothing=1.5 is outside 0..1"),
        ([1, 2], {"ignore_index": 0}, InputError, "ignore_index=0 is a token"),
    ],
)
def test_what_does_not_fit_is_refused(targets, options, error, message):
    with pytest.raises(error, match=message):
        cross_entropy(torch.randn(2, V), torch.tensor(targets), **options)


@pytest.mark.usefixtures("unchecked")
def test_ids_in_the_place_of_logits_are_refused():
    with pytest.raises(InputTypeError, match="logits must be real numbers, got int64"):
        cross_entropy(torch.ones(2, 3, dtype=torch.int64), torch.tensor([0, 1]))

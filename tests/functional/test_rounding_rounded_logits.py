import pytest
import torch
from torch.testing import assert_close

from mathlm.errors import InputError
from mathlm.functional import expected_rounding_divergence, rounding_divergence


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_prediction_is_the_mean_over_many_logits(rng, dtype):
    """Equal to within 5 %: 4000 rows, errors of a standard deviation of about 0.01."""
    shift = 6.0 if dtype == torch.bfloat16 else 50.0  # spacing 1/32 for both
    z = torch.tensor(rng.uniform(-1, 1, size=(4000, 20))) + shift
    found = rounding_divergence(z, dtype).mean()
    assert_close(found, expected_rounding_divergence(z, dtype).mean(), rtol=0.05, atol=0)


def test_two_outcomes_by_hand():
    """0 and 100.2 with 8 bits become 0 and 100: spacing 1/2, and p (1 - p) of a coin that
    shows one side with e^-100."""
    z = torch.tensor([[100.2, 100.2]])
    assert rounding_divergence(z, torch.bfloat16).item() == 0  # both move alike
    by_hand = torch.tensor(2 / 4 * 0.25 / 24)
    assert_close(expected_rounding_divergence(z[0], torch.bfloat16), by_hand)
    batch = z.expand(3, 4, 2)
    assert_close(expected_rounding_divergence(batch, torch.bfloat16), by_hand.expand(3, 4))


def test_logits_that_the_format_holds_lose_nothing():
    z = torch.tensor([1.0, -2.5, 64.0])
    assert rounding_divergence(z, torch.bfloat16) == 0


def test_what_does_not_fit_the_format_is_refused():
    with pytest.raises(InputError, match=r"largest is 70000, and the format ends at 65504"):
        rounding_divergence(torch.tensor([0.0, 7e4]), torch.float16)

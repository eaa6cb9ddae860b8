import numpy as np
import pytest
import torch

from mathlm.errors import InputError
from mathlm.generate import RandomChoices, outcome_distribution

P = [0.5, 0.0, 0.25, 0.25]


def until_heads(choices):
    """Tosses until the first head, three at most."""
    for toss in range(1, 4):
        if choices.accepts(0.25):
            return toss
    return None


def test_every_path_of_a_program_is_weighed():
    """1/4, 3/4 · 1/4, (3/4)² / 4, and (3/4)³ for none."""
    law = outcome_distribution(until_heads)
    assert law == {1: 0.25, 2: 0.1875, 3: 0.140625, None: 0.421875}


def test_paths_that_end_alike_are_added_up():
    law = outcome_distribution(lambda c: c.token(torch.tensor(P)) + c.token(torch.tensor(P)))
    assert law == {0: 0.25, 2: 0.25, 3: 0.25, 4: 0.0625, 5: 0.125, 6: 0.0625}


def test_choices_that_are_certain_or_impossible_open_no_path():
    runs = []
    law = outcome_distribution(lambda c: (c.accepts(2.0), c.accepts(0.0), runs.append(0)))
    assert law == {(True, False, None): 1.0}
    assert len(runs) == 1


def test_programs_with_too_many_paths_are_refused():
    with pytest.raises(InputError, match="after most=5 paths 2 or more are left"):
        outcome_distribution(lambda c: tuple(c.accepts(0.5) for _ in range(3)), most=5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_random_choices_have_their_probabilities(dtype):
    """Five standard deviations of 10,000 draws are 0.025 at most."""
    choices, p = RandomChoices(np.random.default_rng(0)), torch.tensor(P, dtype=dtype)
    drawn = torch.tensor([choices.token(p) for _ in range(2000)])
    assert torch.allclose(drawn.bincount() / 2000, torch.tensor(P), atol=0.056)
    assert not (drawn == 1).any()


def test_random_acceptance_has_its_probability():
    choices = RandomChoices(np.random.default_rng(0))
    assert sum(choices.accepts(0.3) for _ in range(2000)) / 2000 == pytest.approx(
        0.3, abs=0.056
    )
    assert all(choices.accepts(1.0) and not choices.accepts(0.0) for _ in range(100))

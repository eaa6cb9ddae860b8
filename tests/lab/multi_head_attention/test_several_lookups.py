import numpy as np
import pytest
import torch

from lab.multi_head_attention.several_lookups import LookupsConfig, draw, least_error, train
from mathlm.errors import ConfigError


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_the_answer_is_what_the_roles_hold_side_by_side():
    """Projecting a token back on the basis gives its one-hot role and its content."""
    config = LookupsConfig(roles=3, content=4)
    x, answer = draw(config, 0, 5)
    basis = torch.linalg.qr(torch.randn(12, 12, generator=torch.Generator().manual_seed(0)))[0]
    features = x @ basis[:8].mT / 12**0.5 * 2
    torch.testing.assert_close(features[:, :, :4], torch.eye(4).expand(5, 4, 4))
    torch.testing.assert_close(features[:, :3, 4:].flatten(1), answer)


def test_batches_are_a_function_of_seed_and_step():
    config = LookupsConfig()
    assert draw(config, 3, 8)[0].equal(draw(config, 3, 8)[0])
    assert not draw(config, 3, 8)[1].equal(draw(config, 4, 8)[1])


def test_least_error_counts_the_numbers_that_heads_can_carry():
    """4 roles of 16 numbers: a head carries at most 16 + 4 of 64."""
    bounds = [least_error(LookupsConfig(n_heads=h)) for h in (1, 2, 3, 4)]
    assert bounds == [44 / 64, 24 / 64, 4 / 64, 0]


def test_no_choice_of_weights_and_matrices_of_one_head_beats_the_least_error():
    """Principal components of answer and mean token: the best that any later map could do."""
    config = LookupsConfig(roles=2, content=4)
    x, answer = draw(config, 0, 4000)
    weights = torch.rand(4000, 1, 3).softmax(-1)
    mean = torch.cat([weights @ x, torch.ones(4000, 1, 1)], -1)[:, 0]
    fitted = mean @ torch.linalg.lstsq(mean, answer, driver="gelsd").solution
    assert (fitted - answer).square().mean() > least_error(config)
    assert np.linalg.matrix_rank(mean, rtol=1e-4) <= config.content + config.roles + 1


def test_as_many_heads_as_lookups_solve_the_task_and_one_wide_head_does_not():
    config = {"roles": 2, "content": 8, "steps": 200, "lr": 2e-2}
    two, wide = (train(LookupsConfig(n_heads=h, d_head=16, **config)) for h in (2, 1))
    assert two.error < 0.01
    assert wide.error > max(0.3, least_error(LookupsConfig(n_heads=1, roles=2, content=8)))
    assert two.reads.argmax(1).sort().values.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"n_heads": 0}, "all sizes must be at least 1, got .*'n_heads': 0"),
        ({"d_head": 0}, "all sizes must be at least 1, got .*'d_head': 0"),
        ({"roles": 1, "content": 2}, "2 roles and 2 contents do not fit into 2"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        LookupsConfig(**options)

import pytest
import torch
from align.exact.toy_worlds import ended, moved, standard

from mathlm.align.exact import policy_gradient, score_function_objective


@pytest.mark.parametrize("make", [ended, standard])
@pytest.mark.parametrize("baseline", [0.0, 1.7])
def test_the_gradient_of_the_mean_is_the_mean_of_the_score_function(make, baseline):
    world, beta = make(), 0.5
    model = moved(world)
    exact = world.policy_gradient(model, beta)
    logp = world.log_probabilities(model)
    scored = score_function_objective(logp, world.logp_ref, world.rewards, beta, baseline)
    found = policy_gradient(scored.mean(), model)
    assert max((exact[name] - found[name]).abs().max() for name in exact) < 1e-10


def test_it_is_the_slope_of_the_objective():
    world, beta, h = ended(), 0.5, 1e-5
    model = moved(world)
    gradient = world.policy_gradient(model, beta)["head.weight"][1, 2]

    def value(by):
        with torch.no_grad():
            model.head.weight[1, 2] += by
            return world.objective(world.log_probabilities(model), beta).mean()

    up = value(h)
    down = value(-2 * h)
    assert abs((up - down) / (2 * h) - gradient) < 1e-8


def test_it_vanishes_at_the_optimum():
    world, beta = standard(), 0.5
    z = world.optimum(beta).logp.clone().requires_grad_()
    logp = z.log_softmax(-1)
    (gradient,) = torch.autograd.grad(world.objective(logp, beta).sum(), z)
    assert gradient.abs().max() < 1e-12


def test_weights_that_play_no_part_have_gradient_0():
    world = ended()
    model = moved(world)
    model.extra = torch.nn.Parameter(torch.ones(2))
    assert torch.equal(world.policy_gradient(model, 0.5)["extra"], torch.zeros(2))


def test_gradients_that_a_model_holds_are_left_alone():
    world = ended()
    model = moved(world)
    world.policy_gradient(model, 0.5)
    assert all(w.grad is None for w in model.parameters())

"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import pytest

from lab.model_costs import project, project_solution
from mathlm.models import GPTConfig
from mathlm.scaling import count_parameters, forward_flops

RIGHT = project_solution.cost


def test_the_solution_passes():
    report = project.grade(RIGHT)
    assert report.passed, report
    assert repr(report).endswith("8 of 8 tests passed")


def test_the_solution_is_the_package_on_another_configuration():
    config = GPTConfig(vocab_size=9, context=7, d_model=12, n_layers=2, n_heads=3, d_ff=5)
    found = RIGHT(config, 6)
    assert found["parameters"] == count_parameters(config)
    assert found["flops"] == forward_flops(config, 6)


def off(**changes):
    """The solution with something added to its counts: name -> (config, tokens) -> amount."""

    def cost(config, tokens):
        found = RIGHT(config, tokens)
        return found | {name: found[name] + by(config, tokens) for name, by in changes.items()}

    return cost


def pairs(c, T):
    return 4 * c.n_layers * T * T * c.n_heads * c.head_width


def biases(c, _):
    width = (c.n_heads + 2 * c.kv_heads) * c.head_width
    return c.n_layers * (width + 2 * c.d_model + c.ff_width)


FAULTS = {
    "the tied head is counted a second time": off(
        parameters=lambda c, T: c.vocab_size * c.d_model if c.tie_embeddings else 0
    ),
    "table of positions is left out": off(parameters=lambda c, T: -c.context * c.d_model),
    "the last norm is left out": off(parameters=lambda c, T: -2 * c.d_model),
    "LayerNorm has a gain and a bias": off(
        parameters=lambda c, T: -(2 * c.n_layers + 1) * c.d_model
    ),
    "all norms are left out": off(
        parameters=lambda c, T: -(2 * c.n_layers + 1) * 2 * c.d_model
    ),
    "the biases of the linear maps are left out": off(
        parameters=lambda c, T: -biases(c, T) if c.bias else 0
    ),
    "the gate is left out: SwiGLU has three": off(
        parameters=lambda c, T: -c.n_layers * c.d_model * c.ff_width * (not c.bias)
    ),
    "rotary ones have no parameters": off(
        parameters=lambda c, T: c.context * c.d_model * (c.position == "rope")
    ),
    "RMSNorm has a gain only": off(
        parameters=lambda c, T: (2 * c.n_layers + 1) * c.d_model * (c.norm == "rms")
    ),
    "this configuration has none": off(
        parameters=lambda c, T: 0 if c.bias else biases(c, T)
    ),
    "it is config.ff_width": off(
        parameters=lambda c, T: (
            c.n_layers * 3 * c.d_model * (4 * c.d_model - c.ff_width) * (not c.bias)
        )
    ),
    "this one is not tied": off(
        parameters=lambda c, T: 0 if c.tie_embeddings else -c.vocab_size * c.d_model
    ),
    "keys and values have H heads": off(
        parameters=lambda c, T: (
            c.n_layers * 2 * (c.n_heads - c.kv_heads) * c.head_width * c.d_model
        )
    ),
    "they are H K × D": off(
        parameters=lambda c, T: (
            c.n_layers * 2 * c.d_model * (c.d_model - c.n_heads * c.head_width)
        )
    ),
    "it is 2 FLOP": off(flops=lambda c, T: -forward_flops(c, T) // 2),
    "4 L T² H K, are left out": off(flops=lambda c, T: -pairs(c, T)),
    "both have T² pairs": off(flops=lambda c, T: -pairs(c, T) // 2),
    "it is H K.": off(
        flops=lambda c, T: 4 * c.n_layers * T * T * (c.d_model - c.n_heads * c.head_width)
    ),
    "even where it is tied": off(flops=lambda c, T: -2 * T * c.d_model * c.vocab_size),
    "it costs none": off(flops=lambda c, T: 2 * T * c.d_model * c.vocab_size),
    "the gate is left out.": off(
        flops=lambda c, T: -2 * T * c.n_layers * c.d_model * c.ff_width * (not c.bias)
    ),
    "multiply by T": off(flops=lambda c, T: forward_flops(c, T) // T - forward_flops(c, T)),
    "and no pairs": off(
        flops=lambda c, T: 2 * T * count_parameters(c) - forward_flops(c, T)
    ),
    "and tables, too.": off(
        flops=lambda c, T: 2 * T * count_parameters(c) + pairs(c, T) - forward_flops(c, T)
    ),
    "not both": off(cache=lambda c, T: -RIGHT(c, T)["cache"] // 2),
    "not 4": off(cache=lambda c, T: RIGHT(c, T)["cache"]),
    "every query head has keys": off(
        cache=lambda c, T: 4 * c.n_layers * (c.n_heads - c.kv_heads) * c.head_width * T
    ),
    "it is G K": off(
        cache=lambda c, T: 4 * c.n_layers * T * (c.d_model - c.kv_heads * c.head_width)
    ),
    "each of L has its own": off(
        cache=lambda c, T: RIGHT(c, T)["cache"] // c.n_layers - RIGHT(c, T)["cache"]
    ),
    "must return a dictionary": lambda c, T: RIGHT(c, T)["cache"],
    "has no entry 'flops'": lambda c, T: {"parameters": 1},
    "a count is a whole number": lambda c, T: RIGHT(c, T) | {"cache": 0.5},
    "the pairs of tokens grow fourfold": lambda c, T: (
        RIGHT(c, T) | {"flops": T * forward_flops(c, 11) // 11}
    ),
    "of llama2-70b": off(parameters=lambda c, T: c.n_layers == 80),
}  # fmt: skip


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = project.grade(FAULTS[sentence])
    assert not report.passed
    assert sentence in repr(report)


def test_a_field_that_does_not_exist_is_explained():
    report = project.grade(lambda config, tokens: config.width)
    assert "A configuration has d_model" in report.faults[0]


def test_what_is_not_written_yet_is_said():
    def stub(config, tokens):
        raise NotImplementedError

    assert "not written yet" in project.grade(stub).faults[0]

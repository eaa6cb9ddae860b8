"""The project's grader: the solution passes, and each mistake is named."""

import pytest
import torch

from lab.interpretability import project
from lab.interpretability.project_solution import my_circuit, my_route
from mathlm import interpret


@pytest.mark.parametrize("seed", range(4))
def test_the_model_copies_the_token_two_places_back(seed):
    model, *_ = project.task(seed)
    rows = torch.randint(1, project.V, (5, 10), generator=torch.Generator().manual_seed(seed))
    rows[:, 0] = 0
    assert model(rows).argmax(-1)[:, 2:].equal(rows[:, :-2])


def test_the_solution_passes():
    report = project.grade(my_circuit, my_route)
    assert report.passed, report


def by_sum(model, clean, corrupt, metric):
    terms = interpret.logit_contributions(model, interpret.stream_contributions(model, clean))
    names = {n: float(metric(x)) for n, x in terms.items() if ".heads." in n}
    return {
        (int(n.split(".")[1]), int(n.split(".")[4])) for n, x in names.items() if abs(x) > 0.1
    }


def by_length(model, clean, corrupt, metric):
    writes = interpret.stream_contributions(model, clean)
    return {
        (int(n.split(".")[1]), int(n.split(".")[4]))
        for n, x in writes.items()
        if ".heads." in n and x[0, -1].norm() > 0.1
    }


def by_weights(model, clean, corrupt, metric):
    taps = interpret.record(model, clean)
    return {
        (i, h)
        for i in (0, 1)
        for h in range(model.config.n_heads)
        if taps[f"blocks.{i}.attention.weights"][0, h, -1, -2] > 0.9
    }


def positive(model, clean, corrupt, metric):
    found = interpret.activation_patching(model, clean, corrupt, metric, "attention.heads")
    ends = metric(model(clean)), metric(model(corrupt))
    return {tuple(x) for x in (interpret.recovered(found, *ends) > 0.05).nonzero().tolist()}


MISTAKES = {
    "only heads that write to the logits": by_sum,
    "nothing reads it": by_length,
    "is no part of the circuit": by_weights,
    "in the opposite direction": positive,
    "return a set of": lambda *given: [*my_circuit(*given)],
    "give each as a pair": lambda *given: {0},
    "is missing": lambda *given: set(),
    "not [(0, 0), (1, 0)]": lambda m, *given: (
        my_circuit(m, *given) if m.config.n_heads == 3 else {(1, 0)}
    ),
    "for two equal prompts": lambda m, a, b, f: (
        {(0, 0)} if a.equal(b) else my_circuit(m, a, b, f)
    ),
}


@pytest.mark.parametrize("sentence", MISTAKES)
def test_a_mistake_is_named(sentence):
    report = project.grade(MISTAKES[sentence], my_route)
    assert any(sentence in fault for fault in report.faults), report


@pytest.mark.parametrize(
    ("said", "sentence"),
    [("v", "in the circuit of the page"), ("k", "in this task"), ("x", "came back")],
)
def test_a_wrong_route_is_named(said, sentence):
    report = project.grade(my_circuit, lambda *given: said)
    assert any(sentence in fault for fault in report.faults), report


def signed(model, clean, corrupt, metric, sender, receiver):
    name = f"blocks.{sender[0]}.attention.heads.{sender[1]}"

    def effect(letter):
        at = f"blocks.{receiver[0]}.attention.{letter}"
        z = interpret.path_patch(model, corrupt, clean, [name], at, [receiver[1]])
        return float(metric(z))

    return max("qkv", key=effect)


def any_sender(model, clean, corrupt, metric, sender, receiver):
    layer, head = receiver

    def effect(letter):
        site = f"attention.{letter}"
        table = interpret.activation_patching(model, clean, corrupt, metric, site, [layer])
        return abs(float(table[0, head]) - float(metric(model(corrupt))))

    return max("qkv", key=effect)


@pytest.mark.parametrize(
    ("route", "sentence"), [(signed, "works against"), (any_sender, "this sender alone")]
)
def test_a_route_that_is_right_by_chance_is_named(route, sentence):
    report = project.grade(my_circuit, route)
    assert any(sentence in fault for fault in report.faults), report

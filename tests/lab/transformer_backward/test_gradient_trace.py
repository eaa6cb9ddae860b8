import numpy as np
import pytest

from lab.transformer_backward.gradient_trace import gradient_trace
from mathlm import reference as ref
from mathlm.errors import InputError

SOURCE, TARGET = np.array([3, 4, 5, 4]), np.array([1, 6, 3, 7, 2])


def model(rng):
    sizes = {"vocab_size": 9, "context": 6, "d_model": 8, "n_heads": 2}
    return ref.Transformer(ref.TransformerConfig(n_layers=2, n_decoder_layers=3, **sizes), rng)


def test_stages_go_from_the_head_down_to_both_tables(rng):
    trace = gradient_trace(model(rng), SOURCE, TARGET, 1)
    assert list(trace) == [f"decoder {i}" for i in (3, 2, 1, 0)] + [
        f"encoder {i}" for i in (2, 1, 0)
    ]
    assert {d.shape for d in trace.values()} == {(4, 8)}


def test_the_labels_together_give_the_gradient_of_both_tables(rng):
    """The loss is a mean over 4 labels; rows gather what arrives where their token stands."""
    machine = model(rng)
    _, cache = machine.loss(SOURCE[None], TARGET[None])
    gradients = machine.backward(cache)
    traces = [gradient_trace(machine, SOURCE, TARGET, t) for t in range(4)]
    for use, ids in (("encoder 0", SOURCE), ("decoder 0", TARGET[:-1])):
        rows = np.zeros((9, 8))
        np.add.at(rows, ids, np.sqrt(8) * sum(trace[use] for trace in traces) / 4)
        name = "source" if use.startswith("e") else "target"
        np.testing.assert_allclose(rows, gradients[f"{name}_embedding.weight"], atol=1e-14)


def test_without_a_label_the_trace_is_the_mean_over_all_labels(rng):
    machine = model(rng)
    mean = gradient_trace(machine, SOURCE, TARGET)
    each = [gradient_trace(machine, SOURCE, TARGET, t) for t in range(4)]
    for stage, gradient in mean.items():
        np.testing.assert_allclose(gradient, sum(t[stage] for t in each) / 4, atol=1e-15)


def test_a_label_never_reaches_later_positions_of_the_target(rng):
    trace = gradient_trace(model(rng), SOURCE, TARGET, 1)
    assert not any(trace[f"decoder {i}"][2:].any() for i in range(4))
    assert all(trace[f"encoder {i}"].any(1).all() for i in range(3))


def test_a_label_that_is_not_there_is_refused(rng):
    with pytest.raises(InputError, match=r"label=4 must be one of 0\.\.3"):
        gradient_trace(model(rng), SOURCE, TARGET, 4)

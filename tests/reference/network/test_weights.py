import numpy as np
import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.reference.network.weights import checked_weights, part_of, prefixed, require_map


def test_missing_and_unknown_names_are_told_together():
    message = r"lacks \['b'\] and has the unknown names \['c'\]; .*\['a', 'b'\].*\['d'\]"
    with pytest.raises(InputError, match=message):
        checked_weights({"a": np.ones(1), "c": np.ones(1)}, ("a", "b"), ("d",))


@pytest.mark.usefixtures("unchecked")
def test_a_list_of_weights_is_refused():
    with pytest.raises(InputTypeError, match=r"weights is a list; give a dict .* names a, b"):
        checked_weights([np.ones(1)], ("a", "b"))


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (np.array([1.0, np.inf]), InputError, r"weights\['a'\] holds 1 NaN or infinite"),
        (np.array(["x"]), InputTypeError, r"weights\['a'\] has dtype <U1"),
        (np.ones((0, 2)), InputError, r"weights\['a'\] is empty"),
    ],
)
def test_a_weight_that_is_no_array_of_finite_numbers_is_named(weight, error, message):
    with pytest.raises(error, match=message):
        checked_weights({"a": weight}, ("a",))


def test_a_map_of_single_precision_is_computed_in_double():
    assert checked_weights({"a": np.ones(2, np.float32)}, ("a",))["a"].dtype == np.float64


def test_a_map_gives_as_many_numbers_as_it_has_rows():
    weights = {"W.weight": np.ones((3, 2)), "W.bias": np.ones(3)}
    assert require_map(weights, "W", 2) == 3
    with pytest.raises(
        InputError, match=r"W.weight'\] has shape \(3, 2\), expected \(out, 4\)"
    ):
        require_map(weights, "W", 4)


@pytest.mark.parametrize("shape", [(2,), (3, 2, 2)])
def test_a_map_is_a_matrix(shape):
    with pytest.raises(InputError, match=r"W.weight'\] has shape .*, expected \(out, 2\)"):
        require_map({"W.weight": np.ones(shape)}, "W", 2)


def test_a_map_has_one_shift_for_each_row():
    weights = {"W.weight": np.ones((3, 2)), "W.bias": np.ones(2)}
    with pytest.raises(InputError, match=r"W.bias'\] has shape \(2,\), expected \(3,\)"):
        require_map(weights, "W", 2)


def test_parts_are_named_without_their_prefix_and_back():
    one = np.ones(1)
    parts = part_of({"a.x": one, "a.y": one, "ab.x": one}, "a.")
    assert list(parts) == ["x", "y"]
    assert list(prefixed(parts, "a.")) == ["a.x", "a.y"]

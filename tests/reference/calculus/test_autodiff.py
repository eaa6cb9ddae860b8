import gc

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import Variable, numerical_vjp, pull_back, topological_order
from mathlm.reference.calculus.autodiff import PARTIALS

UNARY = [f for f in PARTIALS if f.nin == 1]
BINARY = [f for f in PARTIALS if f.nin == 2]
SHAPES = [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((4, 2, 3), (1, 3)), ((3,), ())]


def pulled(f, arrays, dy):
    inputs = [Variable(a) for a in arrays]
    return pull_back(f(*inputs), inputs, dy)


@pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)], ids=str)
def test_rule_of_one_argument_matches_central_differences(f, shape, rng):
    x, dy = rng.uniform(0.5, 2, size=shape), np.asarray(rng.normal(size=shape))
    x = np.asarray(x)
    numeric = numerical_vjp(f, x, dy)
    assert_allclose(pulled(f, [x], dy)[0], numeric, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
@pytest.mark.parametrize("swapped", [False, True])
def test_rule_of_two_arguments_matches_central_differences(f, a, b, swapped, rng):
    x, y = (np.asarray(rng.uniform(0.5, 2, size=s)) for s in ((b, a) if swapped else (a, b)))
    dy = rng.normal(size=np.broadcast_shapes(a, b))
    for ours, numeric in zip(pulled(f, [x, y], dy), numerical_vjp(f, (x, y), dy), strict=True):
        assert_allclose(ours, numeric, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4))], ids=str
)
def test_matrix_product_matches_central_differences(a, b, rng):
    A, B = rng.normal(size=a), rng.normal(size=b)
    dy = rng.normal(size=(A @ B).shape)
    for ours, numeric in zip(
        pulled(np.matmul, [A, B], dy), numerical_vjp(np.matmul, (A, B), dy), strict=True
    ):
        assert_allclose(ours, numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sum_copies_its_gradient_back(axis, keepdims, rng):
    x = rng.normal(size=(2, 3, 4))
    dy = rng.normal(size=x.sum(axis=axis, keepdims=keepdims).shape)
    ours = pulled(lambda x: x.sum(axis, keepdims), [x], np.asarray(dy))[0]
    numeric = numerical_vjp(lambda x: x.sum(axis=axis, keepdims=keepdims), x, np.asarray(dy))
    assert_allclose(ours, numeric, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [lambda x: x.T, lambda x: x.reshape(3, 2), lambda x: x[1, 1:], lambda x: x[[0, 1, 0]]],
    ids=["transpose", "reshape", "slice", "row picked twice"],
)
def test_moves_of_entries_match_central_differences(f, rng):
    x = rng.normal(size=(2, 3))
    dy = rng.normal(size=f(x).shape)
    assert_allclose(pulled(f, [x], dy)[0], numerical_vjp(f, x, dy), rtol=1e-6)


def network(x, w1, b1, w2, tanh, exp, log):
    logits = tanh(x @ w1.T + b1) @ w2.T
    total = exp(logits).sum(-1)
    return (log(total) - logits[:, 0]).sum()


def test_gradients_of_a_network_equal_those_of_torch(rng):
    arrays = [rng.normal(size=s) for s in ((5, 3), (4, 3), (4,), (2, 4))]
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    theirs = torch.autograd.grad(network(*tensors, torch.tanh, torch.exp, torch.log), tensors)
    inputs = [Variable(a) for a in arrays]
    ours = pull_back(network(*inputs, np.tanh, np.exp, np.log), inputs)
    for a, b in zip(ours, theirs, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_paths_are_multiplied_along_and_added():
    """z = x² · 3x = 3x³ has slope 9x²; at 2: 36."""
    x = Variable(2.0)
    assert pull_back((x * x) * (3 * x), [x])[0] == 36


def test_gradient_of_a_variable_on_the_way_is_found_too():
    """y = (3x + 1)² at x = 2: u = 7, dy/du = 14, dy/dx = 42."""
    x = Variable(2.0)
    u = 3 * x + 1
    assert pull_back(u**2, [u, x]) == (14, 42)


def test_two_to_the_thousand_paths_are_one_sweep():
    """x doubles a thousand times: 2**1000 paths, 1001 variables."""
    y = x = Variable(1.0)
    for _ in range(1000):
        y = y + y
    assert len(topological_order(y)) == 1001
    assert pull_back(y, [x])[0] == 2.0**1000


def test_parents_come_before_children():
    x = Variable(1.0)
    u = np.exp(x)
    y = u * x + u
    place = {id(v): i for i, v in enumerate(topological_order(y))}
    for v in topological_order(y):
        assert all(place[id(parent)] < place[id(v)] for parent, _ in v.edges)
    assert len(place) == 4


def test_a_power_of_zero_is_constant_also_at_zero():
    x = Variable([0.0, 2.0])
    assert_array_equal(pull_back(x**0, [x], np.ones(2))[0], [0, 0])
    assert_array_equal(pull_back(x**1, [x], np.ones(2))[0], [1, 1])
    assert_array_equal(pull_back(x**3, [x], np.ones(2))[0], [0, 12])


def test_relu_at_zero_has_slope_zero_as_in_torch():
    x = Variable([-1.0, 0.0, 2.0])
    for y in (np.maximum(x, 0), np.maximum(0, x)):
        assert_array_equal(pull_back(y, [x], np.ones(3))[0], [0, 0, 1])
    t = torch.tensor([-1.0, 0, 2], requires_grad=True)
    assert torch.autograd.grad(t.relu().sum(), t)[0].tolist() == [0, 0, 1]


def test_what_y_does_not_depend_on_has_gradient_zero():
    x, other = Variable(1.0), Variable([1.0, 2.0])
    assert_array_equal(pull_back(np.exp(x), [other])[0], [0, 0])


def test_constants_are_not_on_the_tape():
    x = Variable(np.ones((2, 2)))
    assert [v.op for v in topological_order(x @ np.ones((2, 2)) + 1)] == [
        "input",
        "matmul",
        "add",
    ]


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: x @ c(((1.0,), (2.0,))),
        lambda x, c: x * c((3.0, 4.0)),
        lambda x, c: c((3.0, 4.0)) / x,
        lambda x, c: x ** c((2, 0)),
    ],
)
@pytest.mark.parametrize("kind", [list, tuple])
def test_a_list_as_a_constant_is_its_array(f, kind):
    x = np.array([[3.0, 5.0]])

    def nested(c):
        return kind(nested(row) for row in c) if isinstance(c, tuple) else c

    dy = np.ones(f(x, np.array).shape)
    found = pulled(lambda x: f(x, nested), [x], dy)[0]
    assert_allclose(found, pulled(lambda x: f(x, np.array), [x], dy)[0], rtol=1e-15)
    assert_allclose(found, numerical_vjp(lambda x: f(x, np.array), x, dy), rtol=1e-6, atol=1e-9)


def test_a_shape_is_given_as_numbers_or_as_one_tuple():
    x = Variable(np.arange(6.0))
    for y in (x.reshape(2, 3), x.reshape((2, 3)), x.reshape([2, -1])):
        assert y.value.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert pull_back(y, [x], np.eye(2, 3))[0].tolist() == [1, 0, 0, 0, 1, 0]
    assert x.reshape(-1).shape == (6,)
    assert Variable([3.0]).reshape().shape == ()


def test_a_gradient_can_be_changed_in_place_and_nothing_else_moves():
    a, b, dy = Variable(np.ones(2)), Variable(np.ones(2)), np.array([1.0, 2.0])
    da, db = pull_back(a + b, [a, b], dy)
    da *= 10
    assert (da.tolist(), db.tolist(), dy.tolist()) == ([10, 20], [1, 2], [1, 2])
    (dx,) = pull_back(a.sum(), [a])  # one number, copied
    dx[0] = 5
    assert dx.tolist() == [5, 1]


def test_the_tape_names_its_operations_and_a_variable_its_name_or_operation():
    x = Variable([[3.0, 4.0]], name="x")
    y = x.reshape(2, 1).T[0].sum()
    assert [v.op for v in topological_order(y)] == ["input", "reshape", "T", "pick", "sum"]
    assert repr(x) == "Variable(x, array([[3., 4.]]))"
    assert repr(Variable(3.0)) == "Variable(input, array(3.))"


def test_comparisons_are_those_of_the_values():
    x = Variable([1.0, 2.0])
    assert (x > 1.5).tolist() == [False, True]


def test_tape_is_freed_with_its_result():
    gc.collect()
    x = Variable(1.0)
    del x
    assert not [v for v in gc.get_objects() if type(v) is Variable]


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda: np.log(Variable([1.0, 0.0])), r"log gave 1 entry .* the first at \(1,\)"),
        (lambda: np.exp(Variable(1e3)), "exp gave 1 entry"),
        (lambda: Variable([1.0]) / 0, "divide gave 1 entry"),
        (lambda: Variable([1e308, 1e308]).sum(), "sum gave 1 entry"),
        (lambda: Variable([np.nan]), "input gave 1 entry"),
        (lambda: Variable([1.0, 2]) @ Variable([1.0, 2]), r"matmul of \[\(2,\), \(2,\)\]"),
    ],
)
def test_values_that_are_not_finite_or_do_not_fit_are_refused(f, message):
    with pytest.raises(InputError, match=message):
        f()


def test_an_infinite_slope_is_refused():
    x = Variable(0.0)
    with pytest.raises(InputError, match="the derivative of sqrt gave 1 entry"):
        pull_back(np.sqrt(x), [x])


def test_functions_without_a_rule_are_refused():
    with pytest.raises(InputTypeError, match=r"no rule for floor.__call__; rules: add, "):
        np.floor(Variable(1.0))
    with pytest.raises(InputTypeError, match=r"no rule for add\.reduce"):
        np.add.reduce(Variable([1.0, 2.0]))
    with pytest.raises(InputTypeError, match=r"no rule for exp\.__call__"):
        np.exp(Variable([1.0, 2.0]), where=[True, False])


@pytest.mark.parametrize("value", ["a", 1j, [None]])
def test_what_is_not_a_real_number_is_refused(value):
    with pytest.raises(InputTypeError, match=r"value has dtype .* expected real numbers"):
        Variable(value)


@pytest.mark.parametrize("dy", [None, np.ones(2), np.ones(())])
def test_dy_of_another_shape_is_refused(dy):
    x = Variable(np.ones(3))
    with pytest.raises(InputError, match=r"y has shape \(3,\): give dy, of that shape"):
        pull_back(np.exp(x), [x], dy)


@pytest.mark.parametrize("f", [np.mean, np.linalg.norm, lambda x: np.dot(x, x), np.asarray])
def test_functions_of_numpy_that_would_take_it_for_one_object_are_refused(f):
    """np.mean of an opaque object is the object: a mean that is none."""
    with pytest.raises(InputTypeError, match="a Variable went to a NumPy function"):
        f(Variable([1.0, 2.0]))


def test_work_in_place_is_refused():
    x = Variable(1.0)
    with pytest.raises(InputTypeError, match=r"np.add in place, .* write x = x \+ y"):
        x += 1


@pytest.mark.parametrize("wrong", [lambda x: x, lambda x: [x.value], lambda x: [x, 1.0]])
def test_gradients_in_what_is_no_list_of_variables_are_refused(wrong):
    x = Variable(1.0)
    with pytest.raises(InputTypeError, match="expected a variable and a list of them"):
        pull_back(x * 2, wrong(x))


def test_dy_must_hold_finite_real_numbers():
    x = Variable([1.0, 2.0])
    with pytest.raises(InputError, match=r"dy gave 1 entry .* first at \(1,\)"):
        pull_back(x, [x], [1.0, np.nan])
    with pytest.raises(InputTypeError, match="dtype complex128"):
        pull_back(x, [x], [1j, 2])

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mathlm import reference
from mathlm.reference import jacobian_products, state_jacobians, state_singular_values

B, T, D, H = 2, 6, 3, 4
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
KINDS = pytest.mark.parametrize("kind", GATES)


def draw(rng, kind):
    rows = GATES[kind] * H
    state = rng.normal(size=(B, 2 * H if kind == "lstm" else H))
    weights = [rng.normal(size=s) for s in [(rows, D), (rows, H), (rows,), (rows,)]]
    return rng.normal(size=(B, T, D)), state, weights


def joined(state):
    """The state as one vector, h before c."""
    return np.concatenate(state, -1) if isinstance(state, tuple) else state


def parted(kind, state):
    return tuple(np.split(state, 2, -1)) if kind == "lstm" else state


def rows_of(f, state):
    """Jacobian of f, a central difference for each entry of the state: column j at e_j."""
    steps = 1e-6 * np.eye(state.shape[-1])
    return np.stack([(f(state + h) - f(state - h)) / 2e-6 for h in steps], -1)


def read(kind, x, state, weights, **options):
    return getattr(reference, kind)(x, parted(kind, state), *weights, **options)


@KINDS
@pytest.mark.parametrize("rows", [np.s_[:], 0], ids=["batch", "one row"])
def test_the_jacobian_of_a_step_matches_central_differences(rng, kind, rows):
    x, state, weights = draw(rng, kind)
    x, state, cell = x[rows, ..., 0, :], state[rows], getattr(reference, f"{kind}_cell")
    _, cache = cell(x, parted(kind, state), *weights)
    ours = getattr(reference, f"{kind}_cell_jacobian")(cache)
    numeric = rows_of(lambda s: joined(cell(x, parted(kind, s), *weights)[0]), state)
    assert_allclose(ours, numeric, rtol=1e-6, atol=1e-8)


@KINDS
def test_products_are_the_jacobians_in_the_initial_state(rng, kind):
    x, state, weights = draw(rng, kind)
    _, cache = read(kind, x, state, weights)
    products = jacobian_products(state_jacobians(cache))
    for t in range(T):
        numeric = rows_of(
            lambda s, t=t: joined(read(kind, x[:, : t + 1], s, weights)[0][1]), state
        )
        assert_allclose(products[:, t], numeric, rtol=1e-6, atol=1e-8)


@KINDS
def test_a_gradient_goes_back_through_the_transposed_product(rng, kind):
    x, state, weights = draw(rng, kind)
    (y, _), cache = read(kind, x, state, weights)
    ds = rng.normal(size=state.shape)
    back = getattr(reference, f"{kind}_backward")((0 * y, parted(kind, ds)), cache)
    product = jacobian_products(state_jacobians(cache))[:, -1]
    expected = (product.mT @ ds[:, :, None])[:, :, 0]
    assert_allclose(joined(back[1]), expected, rtol=1e-12, atol=1e-14)


@KINDS
def test_singular_values_bound_what_a_gradient_can_keep(rng, kind):
    x, state, weights = draw(rng, kind)
    (y, _), cache = read(kind, x, state, weights)
    values = state_singular_values(cache)
    assert values.shape == (B, T, state.shape[1])
    assert (np.diff(values) <= 0).all()
    ds = rng.normal(size=state.shape)
    back = getattr(reference, f"{kind}_backward")((0 * y, parted(kind, ds)), cache)
    kept = np.linalg.norm(joined(back[1]), axis=1) / np.linalg.norm(ds, axis=1)
    assert (kept <= values[:, -1, 0] * (1 + 1e-12)).all()
    assert (kept >= values[:, -1, -1] * (1 - 1e-12)).all()


def test_a_linear_network_of_one_unit_keeps_a_power_of_its_weight():
    """At h = 0 tanh has slope 1, so after t steps the derivative is 0.9 to the power t."""
    x, W_hh = np.zeros((1, 10, 1)), np.array([[0.9]])
    _, cache = reference.rnn(x, None, np.ones((1, 1)), W_hh)
    assert_allclose(state_singular_values(cache)[0, :, 0], 0.9 ** np.arange(1, 11), rtol=1e-14)


def test_an_open_forget_gate_carries_the_cell_through_every_step():
    """With W_hh = 0 the cell's derivative in itself is the product of the forget gates."""
    b = np.array([0.0, 50.0, 0.0, 0.0])
    _, cache = reference.lstm(
        np.zeros((1, 100, 1)), None, np.zeros((4, 1)), np.zeros((4, 1)), b
    )
    product = jacobian_products(state_jacobians(cache))[0, -1]
    assert_allclose(product[1, 1], 1.0, rtol=1e-12)
    assert_allclose(product[:, 0], 0.0)


@KINDS
def test_a_padded_step_has_the_identity(rng, kind):
    x, state, weights = draw(rng, kind)
    mask = np.ones((B, T), dtype=bool)
    mask[1, 2] = False
    jacobians = state_jacobians(read(kind, x, state, weights, mask=mask)[1])
    assert_array_equal(jacobians[1, 2], np.eye(state.shape[1]))
    assert np.abs(jacobians[0, 2] - np.eye(state.shape[1])).max() > 0.01


@pytest.mark.parametrize("shape", [(2, 2), (3, 2, 4), (0, 2, 2)])
def test_what_is_no_chain_of_square_matrices_is_refused(shape, unchecked):
    with pytest.raises(ValueError, match=r"jacobians have shape .* a square matrix"):
        jacobian_products(np.zeros(shape))


def test_the_products_of_two_matrices_by_hand():
    """J₂ swaps the rows of J₁; in the other order it would swap its columns."""
    products = jacobian_products(np.array([[[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]]))
    assert_array_equal(products, [[[1, 2], [3, 4]], [[3, 4], [1, 2]]])


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_a_product_that_overflows_is_refused(batch):
    with pytest.raises(ValueError, match="product of the first 3 Jacobians is not finite"):
        jacobian_products(np.full((*batch, 4, 1, 1), 1e150))


def test_steps_behind_an_overflow_of_both_signs_are_refused_too():
    """The second product has rows of ∞ and -∞, and the third would be their sum."""
    jacobians = np.array(
        [[[1e200, 1e200], [-1e200, -1e200]], 1e200 * np.eye(2), [[1.0, 1.0]] * 2]
    )
    with pytest.raises(ValueError, match="product of the first 2 Jacobians is not finite"):
        jacobian_products(jacobians)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mathlm.errors import InputError
from mathlm.reference import (
    coordinates,
    cosine_similarity,
    determinant,
    eigenvalues_2x2,
    frobenius_norm,
    gram_schmidt,
    linear_algebra,
    p_norm,
    power_iteration,
    projection,
    signed_area,
)

SQUARE = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
vectors = arrays(np.float64, 4, elements=st.floats(-100, 100))


@pytest.mark.parametrize(("p", "expected"), [(1, 7.0), (2, 5.0), (np.inf, 4.0)])
def test_norms_of_three_minus_four(p, expected):
    """|3| + |-4| = 7, √(9 + 16) = 5, max(3, 4) = 4."""
    assert p_norm(np.array([3.0, -4]), p) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int8, np.int64, np.float16], ids=lambda d: d.__name__
)
@pytest.mark.parametrize(
    "f",
    [
        p_norm,
        frobenius_norm,
        gram_schmidt,
        determinant,
        signed_area,
        eigenvalues_2x2,
        lambda A: cosine_similarity(A[0], A[1]),
        lambda A: projection(A[0], A[1]),
    ],
)
def test_numbers_of_few_bits_are_read_in_float64(f, dtype, unchecked):
    """Products of pixels overflow 8 bits, the square of 20,000 overflows a float of 16."""
    A = np.array([[100, 20], [90, 120]]) * (200 if dtype is np.float16 else 1)
    found = f(A.astype(dtype))
    np.testing.assert_allclose(found, f(A.astype(np.float64)), rtol=1e-14)
    assert np.asarray(found).dtype == np.float64


def test_the_most_negative_number_of_8_bits_has_a_norm(unchecked):
    assert p_norm(np.array([-128, 0], np.int8), np.inf) == 128


@given(vectors, vectors, st.floats(1, 10))
def test_a_detour_is_never_shorter(u, v, p):
    assert p_norm(u + v, p) <= (p_norm(u, p) + p_norm(v, p)) * (1 + 1e-12)


@given(vectors, st.floats(-10, 10), st.floats(1, 10))
def test_norm_scales_with_its_vector(v, a, p):
    assert p_norm(a * v, p) == pytest.approx(abs(a) * p_norm(v, p), rel=1e-12, abs=1e-300)


def test_norms_fall_with_p_towards_the_largest_entry(rng):
    v = rng.normal(size=(20, 7))
    values = np.array([p_norm(v, p) for p in (1, 1.5, 2, 4, 50, np.inf)])
    assert np.all(np.diff(values, axis=0) <= 0)
    np.testing.assert_allclose(p_norm(v, 2000), values[-1], rtol=2e-3)


def test_norm_of_huge_entries_does_not_overflow():
    assert p_norm(np.array([3e200, 4e200])) == pytest.approx(5e200, rel=1e-15)


def test_norm_of_zero_is_zero():
    assert p_norm(np.zeros(3), 3) == 0.0


def test_p_below_one_is_refused():
    with pytest.raises(InputError, match=r"p=0\.5 gives no norm"):
        p_norm(np.ones(2), 0.5)


def test_frobenius_norm_is_a_trace_and_a_sum_of_singular_values(rng):
    A = rng.normal(size=(5, 3))
    assert frobenius_norm(A) == pytest.approx(np.sqrt(np.trace(A.T @ A)), rel=1e-13)
    sigma = np.linalg.svd(A, compute_uv=False)
    assert frobenius_norm(A) == pytest.approx(p_norm(sigma), rel=1e-13)


def test_cosine_obeys_the_law_of_cosines(rng):
    u, v = rng.normal(size=(2, 30, 5))
    third = p_norm(u) ** 2 + p_norm(v) ** 2 - p_norm(u - v) ** 2
    expected = third / (2 * p_norm(u) * p_norm(v))
    np.testing.assert_allclose(cosine_similarity(u, v), expected, atol=1e-13)


def test_cosine_does_not_see_length():
    u, v = np.array([1.0, 2]), np.array([2.0, -0.5])
    assert cosine_similarity(1e150 * u, 1e-150 * v) == cosine_similarity(u, v)


def test_cosine_of_a_zero_vector_is_refused():
    for u, v in [(np.zeros(2), np.ones(2)), (np.ones(2), np.zeros(2))]:
        with pytest.raises(InputError, match="zero vector"):
            cosine_similarity(u, v)


def test_rounding_leaves_no_cosine_beyond_one(rng):
    u = rng.normal(size=(1000, 5))
    assert np.max(cosine_similarity(u, u)) == 1
    assert np.min(cosine_similarity(u, -u)) == -1


def test_what_a_projection_leaves_is_perpendicular(rng):
    v, u = rng.normal(size=(6, 4)), rng.normal(size=4)
    np.testing.assert_allclose((v - projection(v, u)) @ u, 0.0, atol=1e-13)
    np.testing.assert_allclose(projection(projection(v, u), u), projection(v, u), rtol=1e-12)


def test_a_zero_vector_spans_no_line():
    with pytest.raises(InputError, match="spans no line"):
        projection(np.ones(2), np.zeros(2))


def test_gram_schmidt_is_qr_with_positive_diagonal(rng):
    A = rng.normal(size=(6, 4))
    Q, R = np.linalg.qr(A)
    np.testing.assert_allclose(gram_schmidt(A), Q * np.sign(np.diag(R)), atol=1e-13)


def test_gram_schmidt_stays_orthonormal_when_columns_are_nearly_dependent():
    """Column by column, once: the Hilbert matrix of order 8 loses all its digits."""
    i = np.arange(8)
    Q = gram_schmidt(1.0 / (i[:, None] + i + 1))
    np.testing.assert_allclose(Q.T @ Q, np.eye(8), atol=1e-14)


def test_gram_schmidt_refuses_dependent_columns():
    with pytest.raises(InputError, match="column 2 depends"):
        gram_schmidt(np.array([[1.0, 0, 2], [0, 1, 3], [0, 0, 0]]))
    with pytest.raises(InputError, match="column 1 depends"):
        gram_schmidt(np.array([[1.0, 0], [0, 0]]))


def test_gram_schmidt_takes_short_columns_for_what_they_are():
    assert gram_schmidt(np.diag([1e-12, 1e12])).tolist() == [[1, 0], [0, 1]]


def test_coordinates_rebuild_the_vector(rng):
    v, basis = rng.normal(size=4), rng.normal(size=(4, 4))
    np.testing.assert_allclose(basis @ coordinates(v, basis), v, rtol=1e-10)


def test_dependent_columns_are_no_basis():
    with pytest.raises(InputError, match="rank 1, expected 2"):
        coordinates(np.ones(2), np.array([[1.0, 2], [2, 4]]))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_cofactors_give_the_determinant(rng, n):
    A = rng.normal(size=(n, n))
    assert determinant(A) == pytest.approx(np.linalg.det(A), rel=1e-12)


def test_determinant_of_a_product_is_the_product(rng):
    A, B = rng.normal(size=(2, 3, 3))
    assert determinant(A @ B) == pytest.approx(determinant(A) * determinant(B), rel=1e-12)


def test_eight_rows_are_the_most_that_are_expanded(rng, monkeypatch):
    """The minors of 7 rows, 5040 products each, are left to NumPy."""
    A = rng.normal(size=(8, 8))
    monkeypatch.setattr(linear_algebra, "determinant", np.linalg.det)
    assert determinant(A) == pytest.approx(np.linalg.det(A), rel=1e-12)


@pytest.mark.parametrize(("shape", "message"), [((2, 3), r"\(2, 3\)"), ((9, 9), "N=9")])
def test_determinants_that_cannot_be_had_are_refused(shape, message):
    with pytest.raises(InputError, match=message):
        determinant(np.ones(shape))


def test_area_of_an_image_is_the_determinant_times_the_area(rng):
    A = rng.normal(size=(2, 2))
    hexagon = np.array([[np.cos(t), np.sin(t)] for t in np.arange(6) * np.pi / 3])
    assert signed_area(hexagon) == pytest.approx(1.5 * np.sqrt(3), rel=1e-14)
    assert signed_area(hexagon @ A.T) == pytest.approx(
        determinant(A) * signed_area(hexagon), rel=1e-12
    )


def test_counterclockwise_is_positive():
    assert (signed_area(SQUARE), signed_area(SQUARE[::-1])) == (1.0, -1.0)


@pytest.mark.parametrize(
    "A", [[[4.0, 1], [2, 3]], [[0.0, -1], [1, 0]], [[1.0, 1], [0, 1]], [[0.0, 100], [0, 0]]]
)
def test_eigenvalues_solve_the_characteristic_equation(A):
    A = np.array(A)
    for eigenvalue in eigenvalues_2x2(A):
        assert abs(np.linalg.det(A - eigenvalue * np.eye(2))) < 1e-12


@pytest.mark.parametrize(
    ("A", "expected"),
    [
        ([[4.0, 1], [2, 3]], [5, 2]),
        ([[7.0, 2], [1, 3]], [5 + 6**0.5, 5 - 6**0.5]),
        ([[1.0, 0], [0, 2]], [2, 1]),
        ([[1.0, 1], [0, 1]], [1, 1]),
        ([[1.0, -2], [2, 1]], [1 + 2j, 1 - 2j]),
    ],
)
def test_larger_eigenvalue_comes_first(A, expected):
    """The first by λ² - 7λ + 10 = (λ - 5)(λ - 2), the second by λ² - 10λ + 19."""
    found = eigenvalues_2x2(np.array(A))
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert np.iscomplexobj(found) == np.iscomplexobj(expected)


def test_power_iteration_finds_the_leading_pair(rng):
    A = rng.normal(size=(6, 6))
    A = A @ A.T
    values, V = np.linalg.eigh(A)
    eigenvalue, v = power_iteration(A)
    assert eigenvalue == pytest.approx(values[-1], rel=1e-9)
    assert abs(v @ V[:, -1]) == pytest.approx(1.0, abs=1e-9)


def test_power_iteration_finds_a_negative_leading_eigenvalue():
    eigenvalue, v = power_iteration(np.diag([1.0, -3.0, 2.0]))
    assert eigenvalue == pytest.approx(-3.0, rel=1e-9)
    np.testing.assert_allclose(v, [0, 1, 0], atol=1e-8)


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_power_iteration_settles_in_any_unit_and_the_same_each_time(unit):
    A = unit * np.array([[2.0, 1], [1, 2]])
    (eigenvalue, v), again = power_iteration(A), power_iteration(A)
    assert eigenvalue == pytest.approx(3 * unit, rel=1e-12)
    assert (again[0], again[1].tolist()) == (eigenvalue, v.tolist())


def test_power_iteration_finds_the_eigenvalue_of_zeros():
    eigenvalue, v = power_iteration(np.zeros((2, 2)))
    assert eigenvalue == 0
    assert p_norm(v) == pytest.approx(1, rel=1e-15)


def test_power_iteration_starts_with_length_one():
    """The only direction of a line is an eigenvector, so one product settles it."""
    eigenvalue, v = power_iteration(np.array([[-2.0]]), steps=1)
    assert (eigenvalue, v.tolist()) == (-2, [1])


@pytest.mark.parametrize("A", [[[0.0, -1], [1, 0]], [[1.0, 0], [0, -1]]])
def test_power_iteration_refuses_to_guess_without_a_gap(A):
    with pytest.raises(InputError, match="no eigenvector after 1000 steps"):
        power_iteration(np.array(A))


def test_power_iteration_needs_a_square():
    with pytest.raises(InputError, match=r"\(2, 3\)"):
        power_iteration(np.ones((2, 3)))

import numpy as np
import pytest

from lab.embeddings.analogy import analogy_accuracy, solve_analogies, solve_analogies_by_product
from mathlm.errors import InputError, InputTypeError

SOLVERS = [solve_analogies, solve_analogies_by_product]
BOTH = pytest.mark.parametrize("solve", SOLVERS)


@pytest.fixture
def cloud(rng):
    return rng.normal(size=(60, 7)), rng.integers(60, size=(80, 4))


def cosine(u, v):
    return u @ v / np.linalg.norm(u) / np.linalg.norm(v)


def unit(E):
    return E / np.linalg.norm(E, axis=1, keepdims=True)


def ranking(scores, excluded, k):
    order = sorted(range(len(scores)), key=lambda d: -scores[d])
    return [d for d in order if d not in excluded][:k]


@pytest.mark.parametrize("exclude", [True, False])
def test_sums_are_ranked_by_the_cosine_with_b_minus_a_plus_c(cloud, exclude):
    E, questions = cloud
    found = solve_analogies(E, questions, k=4, exclude=exclude)
    for (a, b, c, _), answers in zip(questions, found, strict=True):
        u = unit(E)
        scores = [cosine(d, u[b] - u[a] + u[c]) for d in E]
        assert answers.tolist() == ranking(scores, {a, b, c} if exclude else set(), 4)


@pytest.mark.parametrize("exclude", [True, False])
def test_products_are_ranked_by_the_quotient_of_the_paper(cloud, exclude):
    E, questions = cloud
    found = solve_analogies_by_product(E, questions, k=4, exclude=exclude)
    for (a, b, c, _), answers in zip(questions, found, strict=True):
        s = [[(1 + cosine(d, E[x])) / 2 for x in (a, b, c)] for d in E]
        scores = [sb * sc / (sa + 1e-3) for sa, sb, sc in s]
        assert answers.tolist() == ranking(scores, {a, b, c} if exclude else set(), 4)


@BOTH
def test_an_exact_parallelogram_is_found(solve):
    """Rows: man, woman, king, queen, and two that point elsewhere."""
    E = np.array([[1.0, 0, 1], [-1.0, 0, 1], [1.0, 1, 1], [-1.0, 1, 1], [0, -1, 0], [0, 0, -1]])
    assert solve(E, np.array([[0, 1, 2, 3]])).tolist() == [[3]]


def test_without_exclusion_a_short_offset_answers_its_own_c():
    """b - a is short beside c, so that c is nearer to the sum than the right answer."""
    E = np.array([[1.0, 0, 0], [1.0, 0.1, 0], [0.0, 0, 1], [0.0, 0.5, 1]])
    question = np.array([[0, 1, 2, 3]])
    assert solve_analogies(E, question, exclude=False).item() == 2
    assert solve_analogies(E, question).item() == 3


@BOTH
def test_lengths_do_not_matter(solve, cloud, rng):
    E, questions = cloud
    longer = E * rng.uniform(0.1, 10, size=(60, 1))
    np.testing.assert_array_equal(solve(E, questions, k=3), solve(longer, questions, k=3))


@BOTH
def test_the_answer_column_is_not_read(solve, cloud, rng):
    E, questions = cloud
    other = questions.copy()
    other[:, 3] = rng.integers(60, size=80)
    np.testing.assert_array_equal(solve(E, questions), solve(E, other))


@BOTH
def test_single_precision_answers_alike(solve, cloud):
    E, questions = cloud
    np.testing.assert_array_equal(solve(E.astype(np.float32), questions), solve(E, questions))


@BOTH
def test_of_equal_scores_the_lower_row_comes_first(solve):
    E = np.array([[1.0, 0], [0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [-1.0, 0]])
    found = solve(E, np.array([[0, 0, 1, 2]]), k=3)
    assert found.tolist() == [[2, 3, 4]]


def test_accuracy_counts_a_question_whose_answer_is_among_the_k():
    answers = np.array([[7, 3], [4, 5], [6, 9]])
    questions = np.array([[0, 1, 2, 3], [0, 1, 2, 9], [0, 1, 2, 6]])
    assert analogy_accuracy(answers, questions) == pytest.approx(2 / 3)
    assert analogy_accuracy(answers[:, :1], questions) == pytest.approx(1 / 3)


def test_accuracy_of_nothing_is_refused():
    none = np.zeros((0, 4), dtype=int)
    with pytest.raises(InputError, match="0 rows of answers for 0 questions"):
        analogy_accuracy(none[:, :1], none)
    with pytest.raises(InputError, match="1 rows of answers for 2 questions"):
        analogy_accuracy(np.array([[1]]), np.array([[0, 1, 2, 3], [0, 1, 2, 3]]))


@BOTH
@pytest.mark.parametrize(("question", "match"), [
    ([0, 1, 2, 60], "row 60 at .* is outside 0..59"),
    ([-1, 1, 2, 3], "row -1 at"),
])  # fmt: skip
def test_rows_that_are_not_there_are_refused(solve, cloud, question, match):
    with pytest.raises(InputError, match=match):
        solve(cloud[0], np.array([question]))


@BOTH
@pytest.mark.parametrize("k", [0, 58])
def test_more_answers_than_candidates_are_refused(solve, cloud, k):
    with pytest.raises(InputError, match=f"k={k} answers are not among 60 words"):
        solve(*cloud, k=k)


@BOTH
@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_vector_without_a_direction_is_refused(solve, cloud, value):
    E, questions = cloud
    E[5] = value
    with pytest.raises(InputError, match="vector 5 has length"):
        solve(E, questions)


def test_other_dtypes_are_refused(cloud):
    with pytest.raises(InputTypeError, match="dtype float16"):
        solve_analogies(cloud[0].astype(np.float16), cloud[1])


def test_a_quotient_by_nothing_is_refused(cloud):
    with pytest.raises(InputError, match=r"eps=0\.0 must be positive"):
        solve_analogies_by_product(*cloud, eps=0.0)


BAD_ROWS = [
    ([3], [[0, 1, 2, 3]], InputError, "shapes "),
    ([[3]], [[0, 1, 2]], InputError, r"questions have shape \(1, 3\)"),
    ([[3.0]], [[0, 1, 2, 3]], InputTypeError, "answers must be integers, got float64"),
]


@pytest.mark.parametrize(("answers", "questions", "error", "message"), BAD_ROWS)
@pytest.mark.usefixtures("unchecked")
def test_accuracy_of_what_is_no_table_of_rows_is_refused(answers, questions, error, message):
    """Each of them would be broadcast or compared to a wrong share."""
    with pytest.raises(error, match=message):
        analogy_accuracy(np.array(answers), np.array(questions))


@pytest.mark.parametrize("solve", [solve_analogies, solve_analogies_by_product])
@pytest.mark.usefixtures("unchecked")
def test_tables_of_another_shape_are_refused(solve):
    with pytest.raises(InputError, match=r"questions have shape \(3,\), expected \(Q, 4\)"):
        solve(np.eye(6), np.array([0, 1, 2]))
    with pytest.raises(InputError, match=r"vectors have shape \(6,\), expected \(V, D\)"):
        solve(np.ones(6), np.array([[0, 1, 2, 3]]))


def test_an_infinite_epsilon_is_refused():
    with pytest.raises(InputError, match="eps=inf must be positive and finite"):
        solve_analogies_by_product(np.eye(6), np.array([[0, 1, 2, 3]]), eps=float("inf"))

import pytest
import torch

from mathlm.align.exact import all_completions, prefixes_of
from mathlm.errors import InputError, InputTypeError


def texts(completions):
    return [tuple(v for v in y if v >= 0) for y in completions.tolist()]


def test_six_tokens_of_length_three_are_216_completions_with_43_prefixes_in_36_rows():
    completions = all_completions(6, 3)
    tree = prefixes_of(completions)
    assert (completions.shape, len(tree.depth), tree.rows.shape) == ((216, 3), 43, (36, 2))


def test_an_end_stops_a_completion_and_what_is_cut_off_is_not_finished():
    completions = all_completions(2, 2, end=1)
    assert texts(completions) == [(0, 0), (0, 1), (1,)]
    assert prefixes_of(completions).finished.tolist() == [False, True, True]


def test_completions_of_one_length_are_all_finished():
    assert prefixes_of(all_completions(3, 2)).finished.all()


def test_walking_from_node_to_node_ends_at_the_completion():
    completions = all_completions(3, 3, end=0)
    tree = prefixes_of(completions)
    for y, text in enumerate(texts(completions)):
        node = 0
        for token in text[:-1]:
            node = tree.next[node, token]
        assert tree.leaf[node, text[-1]] == y


def test_a_prefix_is_read_in_a_row_that_begins_with_it():
    completions = all_completions(3, 3, end=0)
    tree = prefixes_of(completions)
    for y, text in enumerate(texts(completions)):
        for t in range(len(text)):
            row = tree.rows[tree.row[tree.node[y, t]]]
            assert tuple(row[:t].tolist()) == text[:t]


def test_sums_are_over_the_completions_that_begin_with_a_prefix(rng):
    completions = all_completions(3, 3, end=0)
    tree, values = prefixes_of(completions), torch.from_numpy(rng.normal(size=(1, 15)))
    begins = [y for y, text in enumerate(texts(completions)) if text[:1] == (2,)]
    i = tree.next[0, 2]
    assert tree.sums(values)[0, i] == pytest.approx(values[0, begins].sum().item())
    expected = values[0, begins].exp().sum().log().item()
    assert tree.log_sums(values)[0, i] == pytest.approx(expected)


def test_numbers_are_read_along_and_behind_by_hand():
    """Completions 0, 10 and 11; prefixes: none, and 1."""
    tree = prefixes_of(all_completions(2, 2, end=0))
    values, ends = torch.tensor([[5.0, 7.0]]), torch.tensor([[10.0, 20.0, 30.0]])
    table = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]])
    assert tree.before(values).tolist() == [[[5, 0], [5, 7], [5, 7]]]
    assert tree.along(table).tolist() == [[[1, 0], [2, 3], [2, 4]]]
    assert tree.after(values, ends).tolist() == [[[10, 7], [20, 30]]]


@pytest.mark.parametrize(
    ("completions", "said"),
    [
        ([[0, 0], [0, 1], [1, 0]], "token 1 after \\[1\\] has no completion"),
        ([[0, -100], [0, 1], [1, -100]], "ends a completion and begins another"),
        ([[0], [0], [1]], "occur twice"),
        ([[-100], [0]], "completion 0 is empty"),
        ([[0, -3], [1, 0]], "behind the end"),
        ([[-100, 0], [1, 0]], "behind the end"),
        ([[], []], "shape"),
    ],
)
def test_sets_that_are_not_complete_are_refused(completions, said):
    with pytest.raises(InputError, match=said):
        prefixes_of(torch.tensor(completions, dtype=torch.int64))


def test_ids_must_be_integers(unchecked):
    with pytest.raises(InputTypeError, match="int64"):
        prefixes_of(torch.zeros(1, 1))

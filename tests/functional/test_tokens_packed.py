import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import document_mask, document_positions

ROW = torch.tensor([[0, 0, 1, 1, 1, -1]])


def test_the_mask_has_a_square_for_each_document_and_none_for_padding():
    """Two tokens and then three, which see those of their own document alone."""
    expected = torch.zeros(6, 6, dtype=torch.bool)
    expected[:2, :2] = expected[2:5, 2:5] = True
    mask = document_mask(ROW)
    assert mask.shape == (1, 1, 6, 6)
    assert torch.equal(mask[0, 0], expected)


def test_positions_start_anew_with_each_document():
    rows = torch.tensor([[0, 0, 1, 1, 1, -1], [7, 3, 3, 3, 3, 4], [-1, -1, 0, 0, 0, 0]])
    expected = [[0, 1, 0, 1, 2, 0], [0, 0, 1, 2, 3, 0], [0, 0, 0, 1, 2, 3]]
    assert document_positions(rows).tolist() == expected


def test_a_number_that_comes_again_is_another_document():
    mask = document_mask(torch.tensor([[5, 8, 5]]))
    assert torch.equal(mask[0, 0], torch.eye(3, dtype=torch.bool))
    assert document_positions(torch.tensor([[5, 8, 5]])).tolist() == [[0, 0, 0]]


def test_rows_do_not_know_of_each_other():
    rows = torch.randint(-1, 3, (4, 9)).sort(1).values
    for i in range(4):
        assert torch.equal(document_mask(rows)[i], document_mask(rows[i : i + 1])[0])


@pytest.mark.parametrize("function", [document_mask, document_positions])
def test_it_is_computed_where_the_documents_lie_whatever_the_default(function):
    expected = function(ROW)
    with torch.device("meta"):
        assert torch.equal(function(ROW), expected)


@pytest.mark.parametrize("function", [document_mask, document_positions])
@pytest.mark.parametrize(
    ("documents", "error", "says"),
    [
        (ROW.int(), InputTypeError, "documents must be int64, got int32"),
        (ROW[0], InputError, r"shape \(6,\), expected \(batch, tokens\)"),
        (ROW[:, :0], InputError, r"shape \(1, 0\)"),
        (ROW - 2, InputError, r"document -2 at \[0, 0\] is below -1"),
        (torch.tensor([[0, -1, -2]]), InputError, r"document -2 at \[0, 2\] is below -1"),
    ],
)
def test_documents_that_cannot_be_numbered_are_refused(function, documents, error, says):
    with pytest.raises(error, match=says):
        function(documents)

import numpy as np
import pytest
import torch

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.functional import negative_sampling_loss
from mathlm.models import SkipGram


def test_score_is_the_product_of_a_center_and_a_context():
    model = SkipGram(3, 2)
    model.load_state_dict(
        {"W": torch.arange(6.0).view(3, 2), "C": torch.tensor([[1.0, 2], [3, 4], [5, 6]])}
    )
    scores = model(torch.tensor([0, 2]), torch.tensor([1, 0]))
    assert scores.tolist() == [0 * 3 + 1 * 4, 4 * 1 + 5 * 2]


def test_an_untrained_model_is_undecided():
    """All scores are 0: a pair and k = 5 draws cost 6 log 2."""
    model, ids = SkipGram(10, 4), torch.arange(6).view(2, 3)
    loss = model.loss(ids, ids, ids, k=5)
    np.testing.assert_allclose(loss.detach(), np.full((2, 3), 6 * np.log(2)), rtol=1e-12)
    assert model.W.abs().max() <= 1 / 8 < 2 * model.W.abs().max()


def test_loss_reads_centers_from_W_and_all_others_from_C():
    model = SkipGram(10, 4)
    torch.nn.init.normal_(model.C)
    centers, contexts, negatives = (torch.randint(10, (2, n)) for n in (3, 3, 5))
    expected = negative_sampling_loss(
        model.W[centers], model.C[contexts], model.C[negatives], 2
    )
    torch.testing.assert_close(model.loss(centers, contexts, negatives, 2), expected)


def test_only_rows_that_were_read_get_a_gradient():
    model = SkipGram(10, 4)
    torch.nn.init.normal_(model.C)
    read = [torch.tensor([[i]]) for i in (1, 2, 3)]
    model.loss(*read).sum().backward()
    assert model.W.grad.any(1).nonzero().flatten().tolist() == [1]
    assert model.C.grad.any(1).nonzero().flatten().tolist() == [2, 3]


@pytest.mark.parametrize(
    ("sizes", "message"), [((0, 4), "vocab_size=0"), ((4, -1), "d_model=-1")]
)
def test_sizes_are_positive(sizes, message):
    with pytest.raises(ConfigError, match=f"{message} must be a positive integer"):
        SkipGram(*sizes)


def test_word_numbers_outside_the_vocabulary_are_refused():
    model, ids = SkipGram(10, 4), torch.tensor([[1, 10]])
    with pytest.raises(InputError, match=r"word number 10 at \[0, 1\] is outside 0..9"):
        model.loss(ids, ids, ids)
    with pytest.raises(InputTypeError, match="word numbers must be int64, got float64"):
        model(ids * 1.0, ids)


def test_centers_and_contexts_are_not_broadcast():
    ids = torch.tensor([0, 1])
    with pytest.raises(InputError, match=r"centers \(2,\) and contexts \(2, 1\) must have one"):
        SkipGram(3, 2)(ids, ids[:, None])

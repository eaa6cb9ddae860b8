import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.models import Bert, BertConfig, sentence_embeddings

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
LENGTHS = torch.tensor([[5], [1], [9], [5], [2], [9], [3]])


def make(**changes):
    sizes = {"vocab_size": 50, "context": 12, "d_model": 16, "n_layers": 2, "n_heads": 2}
    model = Bert(BertConfig(**sizes | changes))
    for p in model.parameters():
        p.data += 0.2 * torch.randn_like(p)
    return model.eval()


def texts():
    return torch.randint(50, (7, 9)), torch.arange(9) < LENGTHS


@torch.no_grad()
def one_by_one(model, ids, mask):
    """The definition: mean of the real tokens of each text alone, brought to length 1."""
    means = [model(x[m][None])[0].mean(0) for x, m in zip(ids, mask, strict=True)]
    return torch.stack([y / y.norm() for y in means])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 100])
def test_any_batch_gives_what_each_text_gives_alone(batch_size):
    model, (ids, mask) = make(), texts()
    vectors = sentence_embeddings(model, ids, mask, batch_size=batch_size)
    torch.testing.assert_close(vectors, one_by_one(model, ids, mask), **TIGHT)


def test_padding_may_be_anywhere():
    model, (ids, mask) = make(), texts()
    mask = mask[:, torch.randperm(9)]
    vectors = sentence_embeddings(model, ids, mask, batch_size=2)
    torch.testing.assert_close(vectors, one_by_one(model, ids, mask), **TIGHT)


def test_without_a_mask_every_token_is_real():
    model, ids = make(), texts()[0]
    expected = one_by_one(model, ids, torch.ones_like(ids) > 0)
    torch.testing.assert_close(sentence_embeddings(model, ids), expected, **TIGHT)


def test_padding_beyond_the_context_is_never_read():
    model, (ids, mask) = make(), texts()
    more = torch.nn.functional.pad
    padded = sentence_embeddings(model, more(ids, (0, 30)), more(mask, (0, 30)))
    torch.testing.assert_close(padded, sentence_embeddings(model, ids, mask), **TIGHT)


def test_vectors_carry_no_gradient():
    assert not sentence_embeddings(make(), *texts()).requires_grad


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"ids": torch.ones(3).long()}, InputError, r"ids have shape \(3,\)"),
        ({"ids": torch.ones(7, 9).int()}, InputTypeError, "must be int64, got int32"),
        ({"ids": torch.full((7, 9), 50)}, InputError, "token id 50 at .* is outside"),
        ({"mask": LENGTHS > 1}, InputError, r"mask \(7, 1\) must have the shape of ids"),
        ({"mask": torch.ones(7, 9)}, InputTypeError, "mask must be bool"),
        ({"mask": torch.arange(9) < LENGTHS - 1}, InputError, "sequence 1 has no token"),
        ({"batch_size": 0}, InputError, "batch_size=0 must be at least 1"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(changes, error, message):
    ids, mask = texts()
    with pytest.raises(error, match=message):
        sentence_embeddings(make(), **{"ids": ids, "mask": mask} | changes)


def test_a_model_that_drops_entries_is_refused():
    model = make(dropout=0.1).train()
    with pytest.raises(InputError, match=r"dropout=0\.1 .* call model\.eval\(\) first"):
        sentence_embeddings(model, *texts())
    assert sentence_embeddings(model.eval(), *texts()).isfinite().all()

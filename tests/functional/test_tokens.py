import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import require_token_batch, require_token_ids
from mathlm.models import GPT, GPTConfig


def test_the_first_id_outside_is_named_with_its_place():
    ids = torch.zeros(4, 20, dtype=torch.long)
    ids[2, 17] = 50257
    with pytest.raises(InputError, match=r"token id 50257 at \[2, 17\] is outside 0\.\.50256"):
        require_token_ids(ids, 50257)


def test_a_negative_id_is_outside():
    with pytest.raises(InputError, match=r"token id -1 at \[1\] is outside 0\.\.4"):
        require_token_ids(torch.tensor([4, -1]), 5)


def test_ids_at_both_ends_are_inside():
    require_token_ids(torch.tensor([0, 4]), 5)


def test_no_ids_are_none_outside():
    require_token_ids(torch.zeros(0).long(), 5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
def test_other_dtypes_are_refused(dtype):
    found = str(dtype).removeprefix("torch.")
    with pytest.raises(InputTypeError, match=f"token ids must be int64, got {found}"):
        require_token_ids(torch.zeros(2, dtype=dtype), 5)


@pytest.mark.parametrize(
    ("ids", "past", "message"),
    [
        (torch.zeros(3).long(), 0, r"ids have shape \(3,\), expected \(batch, tokens\)"),
        (torch.zeros(2, 0).long(), 0, r"ids are empty, of shape \(2, 0\)"),
        (torch.zeros(0, 2).long(), 0, r"ids are empty, of shape \(0, 2\)"),
        (torch.full((1, 2), 5), 0, r"token id 5 at \[0, 0\] is outside 0\.\.4"),
        (torch.zeros(1, 9).long(), 0, "sequence of 9 tokens is longer than the context 8"),
        (torch.zeros(1, 3).long(), 6, "sequence of 9 tokens is longer than the context 8"),
    ],
)
def test_a_batch_that_cannot_be_read_is_refused(ids, past, message):
    with pytest.raises(InputError, match=message):
        require_token_batch(ids, 5, context=8, past=past)


def test_a_batch_that_fills_the_context_is_accepted_and_without_one_any_length():
    require_token_batch(torch.zeros(2, 8).long(), 5, context=8)
    require_token_batch(torch.zeros(2, 3).long(), 5, context=8, past=5)
    require_token_batch(torch.zeros(2, 900).long(), 5)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("ids", [[[1, 2]], np.array([[1, 2]])])
def test_ids_that_are_no_tensor_are_refused_by_a_model(ids):
    sizes = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}
    with pytest.raises(InputTypeError, match=r"must be a tensor of int64, got a .*.tensor"):
        GPT(GPTConfig(**sizes))(ids)

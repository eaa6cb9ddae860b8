import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import require_token_ids


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32, torch.bool])
def test_other_dtypes_are_refused(dtype):
    found = str(dtype).removeprefix("torch.")
    with pytest.raises(InputTypeError, match=f"token ids must be int64, got {found}"):
        require_token_ids(torch.zeros(2, dtype=dtype), 5)

import pytest
import torch

from lab.current_models.tiny_folders import KINDS, write_folder
from mathlm.errors import CheckpointMismatchError
from mathlm.models import GPT


@pytest.mark.slow  # the first case imports their models
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_is_read_by_us_and_by_transformers_alike(tmp_path, kind):
    from transformers import AutoModelForCausalLM

    torch.set_default_dtype(torch.float32)
    folder, ids = write_folder(tmp_path / kind, kind), torch.arange(20)[None]
    theirs = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = theirs(ids).logits
        torch.testing.assert_close(
            GPT.from_pretrained(folder)(ids), expected, rtol=1e-5, atol=1e-5
        )


def test_a_type_that_is_not_built_has_fields_only_and_is_refused(tmp_path):
    with pytest.raises(CheckpointMismatchError, match="gpt_oss"):
        GPT.from_pretrained(write_folder(tmp_path / "x", "gpt_oss"))

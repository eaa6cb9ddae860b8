"""An adapter and its base in one folder."""

import pytest
import torch
from recipes.tiny_chats import make, tune
from transformers import AutoTokenizer

from mathlm.chat import folder
from mathlm.errors import ConfigError
from mathlm.models import GPT
from mathlm.recipes import export, generate, merge


@pytest.fixture
def place(tmp_path):
    """A folder with a base and data, and an adapter tuned on them."""
    torch.set_default_dtype(torch.float32)
    make(tmp_path)
    tune(tmp_path, "--lora-rank 2")
    return tmp_path


def logits(model):
    with torch.no_grad():
        return model.eval()(torch.tensor([list(b"What is rain?")]))


def test_a_merged_folder_answers_as_the_adapter_and_needs_no_base(place):
    tuned = folder.load(str(place / "out"), device="cpu")
    merge.main([str(place / "out"), str(place / "whole")])
    (place / "base").rename(place / "gone")
    found = folder.load(str(place / "whole"), device="cpu")
    torch.testing.assert_close(logits(found.model), logits(tuned.model), rtol=1e-4, atol=1e-5)
    assert found.format == tuned.format
    assert folder.read(place / "whole")["kind"] == "model"
    theirs = AutoTokenizer.from_pretrained(place / "whole")
    assert theirs.encode("rain ß") == list("rain ß".encode())
    for name, token in tuned.tokenizer.special.items():
        assert theirs.encode(name) == [token]


def test_what_is_no_adapter_is_not_merged(place):
    with pytest.raises(ConfigError, match="is not the folder of an adapter"):
        merge.main([str(place / "base"), str(place / "whole")])


def test_an_adapter_is_exported_as_a_whole_model(place):
    tuned = folder.load(str(place / "out"), device="cpu")
    for name in ("folder", "file.gguf"):
        export.main([str(place / "out"), str(place / name)])
        found = GPT.from_pretrained(place / name)
        torch.testing.assert_close(logits(found), logits(tuned.model), rtol=1e-4, atol=1e-5)


def test_a_tuned_folder_continues_a_text_and_answers_a_question(place):
    options = ["--max-new-tokens", "4", "--temperature", "0", "--device", "cpu"]
    for more in ([], ["--chat"]):
        words = ["--model", str(place / "out"), "--prompt", "What is rain?"]
        assert isinstance(generate.main([*words, *options, *more]), str)

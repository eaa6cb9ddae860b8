import logging

import pytest

from mathlm.errors import ConfigError, DataNotFoundError, InputError
from mathlm.generate import write
from mathlm.models import GPT, GPTConfig, save_pretrained
from mathlm.recipes import generate as recipe
from mathlm.text import ByteBPE, Bytes, ChatFormat


@pytest.fixture
def loaded(monkeypatch):
    """A small model of bytes where a pretrained one would be."""
    model = GPT(GPTConfig(vocab_size=256, context=60, d_model=16, n_layers=1, n_heads=2))
    monkeypatch.setattr(recipe, "load_pretrained", lambda *names: (model, Bytes()))
    return model


def test_the_terminal_shows_what_is_written(loaded, capsys, caplog):
    caplog.set_level(logging.INFO)
    text = recipe.main(["--prompt", "a\\nb", "--max-new-tokens", "20", "--seed", "3"])
    assert text == write(loaded, Bytes(), "a\nb", 20, 0.8, seed=3)
    assert capsys.readouterr().out == text + "\n"
    assert "20 tokens" in caplog.text
    assert "ended by length" in caplog.text


def test_options_reach_the_draw(loaded, capsys):
    options = ["--prompt", "a", "--max-new-tokens", "6", "--pattern", "[ab]+c", "--top-k", "9"]
    text = recipe.main([*options, "--seed", "0", "--stop", "q"])
    assert text.strip("ab") in ("", "c")
    assert recipe.main([*options, "--temperature", "0"]).strip("ab") in ("", "c")


def test_a_length_beyond_the_context_is_refused(loaded):
    with pytest.raises(InputError, match="longer than the context 60"):
        recipe.main(["--prompt", "a"])


def test_chat_without_marks_is_refused(loaded):
    with pytest.raises(ConfigError, match="--chat needs a tokenizer with marks for turns"):
        recipe.main(["--prompt", "a", "--chat", "--max-new-tokens", "5"])


def test_a_question_ends_where_the_answer_begins():
    format = ChatFormat.chatml()
    bpe = ByteBPE.train(["a question"], 262, special=format.special)
    assert bpe.decode(recipe.asked("why?", bpe)).endswith(
        "why?<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_folder_of_a_model_of_bytes_is_loaded(tmp_path):
    save(tmp_path, 256)
    model, tokenizer = recipe.load_pretrained(str(tmp_path))
    assert model.config.vocab_size == 256
    assert isinstance(tokenizer, Bytes)


def test_a_model_without_tokenizer_is_refused(tmp_path):
    save(tmp_path, 300)
    words = ["--model", str(tmp_path), "--prompt", "a"]
    with pytest.raises(ConfigError, match="holds no tokenizer and has 300 tokens"):
        recipe.main(words)
    with pytest.raises(DataNotFoundError, match="--tokenizer nowhere is neither"):
        recipe.main([*words, "--tokenizer", "nowhere"])


def save(folder, vocab_size):
    sizes = {"context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}
    config = GPTConfig(vocab_size=vocab_size, activation="gelu_tanh", **sizes)
    save_pretrained(GPT(config), folder)

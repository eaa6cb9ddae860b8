"""A run of the pretraining script as a folder that others read."""

import json
import re
import shutil
from dataclasses import replace

import pytest
import torch
from recipes.tiny_chats import make, tune
from transformers import AutoTokenizer

from mathlm.chat import folder as chat_folder
from mathlm.chat.folder import load, load_pretrained
from mathlm.errors import (
    CheckpointError,
    CheckpointMismatchError,
    ConfigError,
    DataError,
    HashMismatchError,
)
from mathlm.models import GPT, load_weights
from mathlm.recipes import export, generate, pretrain
from mathlm.text import ByteBPE, Bytes
from mathlm.text.tokenizers.named import load_tokenizer

SIZES = ["--size", "nano", "--batch-size", "2", "--context", "16", "--device", "cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two steps."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "text.txt").write_text("To be, or not to be: that is the question:\n" * 50)
    data = ["--data", str(folder / "text.txt"), "--steps", "2", "--warmup", "1"]
    pretrain.main([*SIZES, *data, "--out", str(folder / "run")])
    return folder / "run"


def test_the_folder_holds_the_weights_of_the_newest_checkpoint(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model")])
    model = GPT.from_pretrained(folder)
    saved = load_weights(run / "step_000002")
    assert torch.equal(model.token_embedding.weight, saved["token_embedding.weight"])
    assert model.config.activation == "swiglu"


@pytest.mark.parametrize("part", ["", "step_000002"])
def test_a_run_in_the_place_of_a_model_names_the_step_between(run, tmp_path, part):
    """As --model of sft, dpo, ppo, grpo, chat, generate; the command named is carried out."""
    with pytest.raises(CheckpointError, match="holds checkpoints of a run") as caught:
        load(run / part)
    said = re.search(r"'mathlm export (.*) FOLDER'", str(caught.value)).group(1)
    place = tmp_path / "model"
    assert said == str(run / part)
    assert isinstance(load(export.main([said, str(place)])).tokenizer, Bytes)


def test_half_precision_is_what_is_asked_for(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model"), "--dtype", "float16"])
    assert {t.dtype for t in load_weights(folder).values()} == {torch.float16}


@pytest.mark.parametrize("model", [{"class": "RecurrentConfig"}, "mathlm.align.RewardModel"])
def test_a_run_of_another_model_is_refused(run, tmp_path, model):
    state = json.loads((run / "step_000002" / "state.json").read_text())
    state["config"]["model"] = model
    (tmp_path / "state.json").write_text(json.dumps(state))
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(
        CheckpointMismatchError, match=r"holds no GPT: a run of recipes\.pretrain"
    ):
        export.main([str(tmp_path), str(tmp_path / "model")])


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        export.main([str(tmp_path), str(tmp_path / "model")])


def test_a_name_that_ends_in_gguf_is_a_file_that_holds_the_same_model(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model")])
    for source in (run, folder):
        path = export.main([str(source), str(tmp_path / f"{source.name}.gguf")])
        found, saved = GPT.from_pretrained(path), GPT.from_pretrained(folder)
        assert replace(found.config, norm_eps=saved.config.norm_eps) == saved.config
        for name, tensor in saved.state_dict().items():
            assert torch.equal(found.state_dict()[name], tensor.float())


ODD = "Größe \x00\x1c\x85 日本 \U0001f916 To be, or not\r\n <|endoftext|> \n "


@pytest.fixture(scope="module", params=["gpt4", "gpt2"])
def learned(request, tmp_path_factory):
    """A run of two steps on tokens of a tokenizer, and that tokenizer and its file."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "text.txt").write_text("To be, or not to be: that is the question:\n" * 200)
    text = (folder / "text.txt").read_text()
    options = {"special": ["<|endoftext|>"], "pattern": request.param}
    bpe = ByteBPE.train([text], 270, **options)
    bpe.save(folder / "bpe.json")
    data = ["--data", str(folder / "text.txt"), "--tokenizer", str(folder / "bpe.json")]
    words = [*SIZES, *data, "--steps", "2", "--warmup", "1", "--out", str(folder / "run")]
    pretrain.main(words)
    return folder / "run", bpe, folder / "bpe.json"


@pytest.mark.parametrize("part", ["", "step_000002"])
def test_the_folder_holds_the_tokenizer_of_the_run(learned, tmp_path, part, caplog):
    """Ours reads it, and so does the transformers package, with the same ids."""
    run, bpe, _ = learned
    with caplog.at_level("INFO"):
        folder = export.main([str(run / part), str(tmp_path / "model")])
    assert "byte_bpe.json, tokenizer.json, tokenizer_config.json" in caplog.text
    assert load_pretrained(str(folder), device="cpu")[1] == bpe
    assert load_tokenizer(str(folder)) == bpe
    words = ["--prompt", "To be", "--max-new-tokens", "3", "--device", "cpu"]
    assert isinstance(generate.main(["--model", str(folder), *words]), str)
    theirs = AutoTokenizer.from_pretrained(folder)
    assert theirs.encode(ODD) == bpe.encode(ODD, allowed_special="all")
    assert theirs.decode(bpe.encode(ODD)) == ODD
    again = export.main([str(folder), str(tmp_path / "again")])
    assert load_tokenizer(str(again)) == bpe


def test_a_run_of_bytes_needs_no_file_but_has_one_for_transformers(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model")])
    assert not (folder / "byte_bpe.json").exists()
    assert AutoTokenizer.from_pretrained(folder).encode(ODD) == list(ODD.encode())
    assert isinstance(load_pretrained(str(folder), device="cpu")[1], Bytes)


def test_a_run_whose_tokenizer_is_not_beside_it_needs_its_file(learned, tmp_path, caplog):
    """As runs of earlier versions, and of data that others encoded."""
    run, bpe, file = learned
    old = tmp_path / "old"
    shutil.copytree(run, old)
    (old / "byte_bpe.json").unlink()
    with caplog.at_level("INFO"):
        folder = export.main([str(old), str(tmp_path / "without")])
    assert "none: the run's is not known; give --tokenizer FILE" in caplog.text
    assert not (folder / "tokenizer.json").exists()
    folder = export.main([str(old), str(tmp_path / "with"), "--tokenizer", str(file)])
    assert load_tokenizer(str(folder)) == bpe
    ByteBPE.train(["another text, text"], 258).save(old / "byte_bpe.json")  # of another run
    folder = export.main([str(old), str(tmp_path / "other")])
    assert not (folder / "byte_bpe.json").exists()


def test_another_tokenizer_than_that_of_the_run_is_refused(learned, run, tmp_path):
    other = ByteBPE.train(["another text, text"], 258)
    other.save(tmp_path / "other.json")
    options = [str(tmp_path / "m"), "--tokenizer", str(tmp_path / "other.json")]
    for source in (learned[0], run):
        with pytest.raises(HashMismatchError, match=r"was trained with .*: give the file"):
            export.main([str(source), *options])
    folder = export.main([str(run), str(tmp_path / "model")])  # a folder records no hash
    with pytest.raises(ConfigError, match="of 258 tokens, and the model one of 256"):
        export.main([str(folder), *options])
    assert not (tmp_path / "m").exists()


def test_a_file_holds_the_tokenizer_where_llama_cpp_has_a_name_for_it(
    learned, tmp_path, caplog
):
    run, bpe, _ = learned
    with caplog.at_level("INFO"):
        path = export.main([str(run), str(tmp_path / "model.gguf")])
    if bpe.pattern == "gpt4":
        assert "none: the tokenizer cuts words by 'gpt4'" in caplog.text
        assert "export a folder, which holds any tokenizer, or train" in caplog.text
        with pytest.raises(DataError):
            ByteBPE.from_gguf(path)
        return
    assert load_pretrained(str(path), device="cpu")[1] == bpe
    again = export.main([str(run), str(tmp_path / "again.gguf"), "--tokenizer", str(path)])
    assert ByteBPE.from_gguf(again) == bpe


def test_a_file_of_bytes_says_how_it_is_read(run, tmp_path, caplog):
    with caplog.at_level("INFO"):
        path = export.main([str(run), str(tmp_path / "model.gguf")])
    assert "mathlm takes --tokenizer bytes" in caplog.text
    assert f"mathlm generate --model {path} --tokenizer FILE --prompt" in caplog.text
    assert isinstance(load_pretrained(str(path), "bytes", device="cpu")[1], Bytes)


def test_a_tuned_model_keeps_its_turns_and_its_tokens(tmp_path):
    torch.set_default_dtype(torch.float32)
    make(tmp_path)
    tune(tmp_path, "--method full")
    tuned = load(str(tmp_path / "out"), device="cpu")
    folder = export.main([str(tmp_path / "out"), str(tmp_path / "model")])
    found = load(str(folder), device="cpu")
    assert found.format == tuned.format
    was, kept = chat_folder.read(tmp_path / "out"), chat_folder.read(folder)
    assert (kept["turns"], kept["tokenizer"]) == (was["turns"], was["tokenizer"])
    assert (kept["kind"], kept["quantize"]) == ("model", None)
    theirs = AutoTokenizer.from_pretrained(folder)
    for name, token in tuned.tokenizer.special.items():
        assert theirs.encode(name) == [token]


def test_the_format_may_be_named(run, tmp_path, capsys):
    """A file gets its ending, a folder need not be told from one; there is no third."""
    words = [str(run), str(tmp_path / "model.v1")]
    path = export.main([*words, "--format", "gguf"])
    assert path == tmp_path / "model.v1.gguf"
    assert path.read_bytes()[:4] == b"GGUF"
    folder = export.main([*words, "--format", "hf"])
    assert folder == tmp_path / "model.v1"
    assert (folder / "config.json").is_file()
    again = export.main([str(run), str(tmp_path / "named.gguf"), "--format", "gguf"])
    assert again == tmp_path / "named.gguf"
    with pytest.raises(SystemExit) as end:
        export.main([*words, "--format", "onnx"])
    assert end.value.code == 2
    assert "onnx" in capsys.readouterr().err


def test_a_format_that_is_unknown_or_contradicts_the_name_is_refused(run, tmp_path, unchecked):
    with pytest.raises(ConfigError, match=r"--format hf writes a folder, and .*x.gguf"):
        export.main([str(run), str(tmp_path / "x.gguf"), "--format", "hf"])
    with pytest.raises(ConfigError, match="format='onnx'"):
        export.ExportConfig(run=run, folder=tmp_path / "x", format="onnx")
    assert list(tmp_path.iterdir()) == []

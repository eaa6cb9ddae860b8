import ast
import io
import os
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from torch import nn

import mathlm
from mathlm.errors import CheckpointCorruptError, CheckpointError, CheckpointMismatchError
from mathlm.models import GPT, GPTConfig, Recurrent, RecurrentConfig, load_weights
from mathlm.models.files.weights import (
    check_tensors_fit,
    check_weights_fit,
    copy_weights,
    shapes_only,
    to_bytes,
    unique_tensors,
)

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "bool"]


def write(folder, tensors):
    (folder / "model.safetensors").write_bytes(to_bytes(tensors))
    return folder


def make(kind, tied):
    sizes = {"vocab_size": 11, "d_model": 6, "tie_embeddings": tied}
    if kind is GPT:
        return GPT(GPTConfig(**sizes, context=5, n_layers=1, n_heads=2))
    return Recurrent(RecurrentConfig(**sizes))


class Evil:
    """An object whose unpickling makes a folder."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_written_is_read(tmp_path, dtype):
    x = torch.randn(3, 4).mul(9).to(getattr(torch, dtype))
    read = load_weights(write(tmp_path, {"x": x, "a.b": x[:, 1:]}))
    assert list(read) == ["a.b", "x"]
    assert read["x"].dtype == x.dtype
    assert torch.equal(read["x"], x)
    assert torch.equal(read["a.b"], x[:, 1:])


def test_what_is_read_is_apart_from_the_file(tmp_path):
    """Neither does a change of the one show in the other, as in mapped memory it might."""
    path = write(tmp_path, {"x": torch.ones(3)}) / "model.safetensors"
    x = load_weights(str(tmp_path))["x"]
    with open(path, "r+b") as file:
        file.seek(-24, 2)
        file.write(bytes(24))
    assert x.tolist() == [1, 1, 1]
    x.fill_(2)
    assert load_weights(tmp_path)["x"].tolist() == [0, 0, 0]


@pytest.mark.slow
def test_reading_takes_little_more_memory_than_the_tensors(tmp_path):
    """40 of 2 MB. The file is mapped into memory, where what was read would count again."""
    write(tmp_path, {f"x{i}": torch.ones(2**18) for i in range(40)})
    code = """
import sys
from pathlib import Path
from mathlm.models import load_weights

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
tensors = load_weights(sys.argv[1])
print((peak() - before) * 1024)
"""
    if not Path("/proc/self/status").is_file():
        pytest.skip("only Linux tells the peak of a process")
    run = [sys.executable, "-c", code, str(tmp_path)]
    peak = int(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    assert peak < 1.5 * 40 * 2**21


def test_a_folder_without_weights_says_what_it_holds(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"safetensors is missing: .* holds config\.json"):
        load_weights(tmp_path)


def test_a_folder_that_is_not_there_is_said_to_be_none(tmp_path):
    with pytest.raises(CheckpointError, match="elsewhere is not a folder"):
        load_weights(tmp_path / "elsewhere")


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin", "model.pt"])
@pytest.mark.parametrize("dump", [torch.save, pickle.dump])
def test_a_pickle_is_refused_and_not_run(tmp_path, name, dump):
    content, sentinel = io.BytesIO(), tmp_path / "sentinel"
    dump(Evil(sentinel), content)
    (tmp_path / name).write_bytes(content.getvalue())
    with pytest.raises(CheckpointMismatchError, match=f"{name} contains objects that are not"):
        load_weights(tmp_path)
    assert not sentinel.exists()


@pytest.mark.parametrize("content", [b"", b"{}", (8 << 30).to_bytes(8, "little") + b"{" * 90])
def test_a_file_that_is_no_safetensors_is_refused(tmp_path, content):
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(CheckpointCorruptError, match="has an invalid header"):
        load_weights(tmp_path)


def test_a_file_cut_short_is_refused(tmp_path):
    path = write(tmp_path, {"x": torch.ones(30)}) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(CheckpointCorruptError, match="has an invalid header"):
        load_weights(tmp_path)


def test_a_tied_weight_is_written_once_and_filled_once(tmp_path):
    model = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 5, bias=False))
    model[1].weight = model[0].weight
    read = load_weights(write(tmp_path, unique_tensors(model)))
    assert list(read) == ["0.weight"]
    copy_weights(model, {"0.weight": torch.ones(5, 3)})
    assert (model[1].weight == 1).all()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("kind", [GPT, Recurrent])
def test_a_model_is_tied_as_before_after_saving_and_loading(tmp_path, kind, tied):
    model, other = (make(kind, tied) for _ in "ab")
    read = load_weights(write(tmp_path, unique_tensors(model)))
    assert sorted(read) == sorted(name for name, _ in model.named_parameters())
    check_weights_fit(other, read)
    copy_weights(other, read)
    head, embedding = other.head.weight, other.token_embedding.weight
    assert (head.data_ptr() == embedding.data_ptr()) == tied
    assert torch.equal(head, model.head.weight)


def test_torch_is_of_a_version_that_does_not_run_code_when_it_reads_weights():
    """CVE-2025-32434 before 2.6 and CVE-2026-24747 before 2.10."""
    project = tomllib.loads((Path(mathlm.__file__).parents[1] / "pyproject.toml").read_text())
    (torch_line,) = (d for d in project["project"]["dependencies"] if d.startswith("torch"))
    least = re.search(r">=(\d+)\.(\d+)", torch_line)
    assert tuple(map(int, least.groups())) >= (2, 10)


def test_all_differences_are_listed_at_once_with_names_and_shapes():
    expected = {"a": torch.zeros(2, 3), "b": torch.zeros(4), "c": torch.zeros(1)}
    found = {"a": torch.zeros(3, 2), "c": torch.zeros(1).float(), "d": torch.zeros(5, 1)}
    text = (
        r"no fit: missing 1 \(b \(4\)\); unexpected 1 \(d \(5,1\)\); "
        r"shape a \(3,2\) ≠ \(2,3\); dtype c float32 ≠ float64$"
    )
    with pytest.raises(CheckpointMismatchError, match=text):
        check_tensors_fit("no fit", found, expected)


def test_weights_of_the_model_itself_fit():
    model = nn.Linear(2, 3)
    check_weights_fit(model, dict(model.state_dict()))


def test_a_model_of_shapes_only_draws_nothing_and_has_no_memory():
    before = torch.get_rng_state()
    with shapes_only():
        model = nn.Sequential(nn.Embedding(7, 3), nn.Linear(3, 2))
        nn.init.normal_(model[1].weight)
    assert all(p.is_meta for p in model.parameters())
    assert [tuple(p.shape) for p in model.parameters()] == [(7, 3), (2, 3), (2,)]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.slow
def test_a_model_of_shapes_only_does_not_load_the_compiler():
    """Random numbers without memory would: two seconds and many modules."""
    code = """
import sys
from torch import nn
from mathlm.models import GPT
from mathlm.models.files.weights import shapes_only
from mathlm.text import pretrained
with shapes_only():
    nn.init.normal_(nn.Embedding(7, 3).weight), nn.Linear(3, 2)
assert "torch._dynamo" not in sys.modules
model = GPT.from_pretrained(pretrained.find("smollm2"))
assert model.position.cos.shape == (8192, 32)
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_else_in_the_package_reads_or_writes_safetensors():
    users = set()
    for file in Path(mathlm.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "safetensors" for name in names):
                users.add(file.name)
    assert users == {"weights.py"}


def test_a_folder_with_the_name_of_a_pickle_is_no_pickle(tmp_path):
    (tmp_path / "pytorch_model.bin").mkdir()
    with pytest.raises(CheckpointError, match=r"holds pytorch_model.bin"):
        load_weights(tmp_path)

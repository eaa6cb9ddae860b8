import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from train.tiny_runs import IDS, tiny_data

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.text import ByteBPE
from mathlm.train import TokenizedWindows, TokenWindows, check_ids
from mathlm.train.objectives import split

SIZES = {
    "n": st.integers(2, 60),
    "context": st.integers(1, 12),
    "batch_size": st.integers(1, 7),
}


def made(n, context, batch_size):
    """Windows over the text 0, 1, 2, ... so that each token tells its place."""
    context = min(context, n - 1)
    return TokenWindows(range(n), context=context, batch_size=batch_size, vocab_size=n)


def targets_of(batch):
    return batch["targets"][batch["targets"] != -100].tolist()


@given(**SIZES)
def test_each_token_but_the_first_is_a_target_once_per_epoch(n, context, batch_size):
    data = made(n, context, batch_size)
    epoch = [t for step in range(data.steps_per_epoch) for t in targets_of(data(step))]
    in_order = [t for batch in data for t in targets_of(batch)]
    assert sorted(epoch) == in_order == list(range(1, n))


@given(**SIZES)
def test_a_target_is_the_token_after_its_input(n, context, batch_size):
    for batch in made(n, context, batch_size):
        counts = batch["targets"] != -100
        assert (batch["targets"] - batch["ids"])[counts].eq(1).all()


@given(**SIZES, step=st.integers(0, 40))
def test_a_batch_is_a_function_of_seed_and_step(n, context, batch_size, step):
    one, two = made(n, context, batch_size)(step), made(n, context, batch_size)(step)
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_the_order_depends_on_the_epoch_and_on_the_seed():
    def order(seed, epoch):
        data = tiny_data(batch_size=1000, seed=seed)
        return tuple(data(epoch)["index"].tolist())

    assert len({order(seed, epoch) for seed in range(3) for epoch in range(3)}) == 9


def test_the_order_is_that_of_pcg64_seeded_by_seed_and_epoch():
    data = tiny_data(batch_size=1000, seed=3)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([3, 2])))
    assert data(2)["index"].tolist() == generator.permutation(data.windows).tolist()


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.int64, np.uint16])
def test_the_dtype_of_the_corpus_changes_nothing(dtype):
    plain, other = tiny_data(), tiny_data(ids=np.array(IDS, dtype))
    assert torch.equal(plain(3)["ids"], other(3)["ids"])
    assert plain.sha256 == other.sha256


def test_a_memory_map_is_not_copied(tmp_path):
    np.array(IDS, np.uint16).tofile(tmp_path / "ids.bin")
    ids = np.memmap(tmp_path / "ids.bin", np.uint16, mode="r")
    data = tiny_data(ids=ids)
    assert data.ids is ids
    assert torch.equal(data(0)["ids"], tiny_data()(0)["ids"])


def test_the_hash_is_that_of_little_endian_int64():
    raw = b"".join(i.to_bytes(8, "little") for i in IDS)
    assert tiny_data().sha256 == [hashlib.sha256(raw).hexdigest()]


@pytest.mark.parametrize("name", ["context", "batch_size"])
def test_sizes_must_be_positive(name):
    with pytest.raises(ConfigError, match=f"{name}=0 must be positive"):
        tiny_data(**{name: 0})


def test_a_seed_is_not_negative():
    with pytest.raises(ConfigError, match="seed=-1 must not be negative"):
        tiny_data(seed=-1)


def test_a_corpus_has_one_dimension():
    with pytest.raises(InputError, match=r"one dimension, got shape \(2, 3\)"):
        tiny_data(ids=np.ones((2, 3), int))


def test_the_first_bad_id_of_a_batch_is_named():
    ids = torch.zeros(4, 20, dtype=torch.int64)
    ids[2, 17] = 50_257
    with pytest.raises(InputError, match=r"token id 50257 at \[2, 17\] is outside 0..50256"):
        check_ids(ids, 50_257)
    with pytest.raises(InputTypeError, match="token ids must be int64, got bool"):
        check_ids(ids == 0, 50_257)
    check_ids(ids[:2], 50_257)


@given(rows=st.integers(1, 20), parts=st.integers(1, 25))
def test_a_split_keeps_every_row_once_and_is_even(rows, parts):
    pieces = split({"x": torch.arange(rows)}, rows, parts)
    sizes = [len(piece["x"]) for piece in pieces]
    assert torch.cat([piece["x"] for piece in pieces]).tolist() == list(range(rows))
    assert len(pieces) == min(parts, rows)
    assert max(sizes) - min(sizes) <= 1


def test_bytes_per_target_are_those_of_every_token_but_the_first():
    bpe = ByteBPE.train(["abababab"], 258)
    ids = [*bpe.encode("abab"), *bpe.encode("é")]
    windows = TokenizedWindows(ids, bpe, context=1, batch_size=1)
    assert windows.bytes_per_target == len("é".encode()) / (len(ids) - 1)
    assert windows.describe()["tokenizer_sha256"] == bpe.sha256

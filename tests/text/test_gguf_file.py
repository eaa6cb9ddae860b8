import builtins

import gguf
import numpy as np
import pytest

from mathlm.errors import DataError, DataNotFoundError, InputError
from mathlm.text.gguf_file import gguf_numbers, gguf_tensor, open_gguf


@pytest.fixture
def written(tmp_path, rng):
    """A file with a list of strings, a plain tensor and a quantized one."""
    path = tmp_path / "small.gguf"
    table = rng.normal(size=(3, 64)).astype(np.float32)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_token_list(["a", "ß", "<end>"])
    writer.add_token_types([1, 1, 3])
    writer.add_tensor("plain", table)
    kind = gguf.GGMLQuantizationType.Q8_0
    writer.add_tensor("packed", gguf.quantize(table, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path, table


def test_a_plain_tensor_comes_back_as_it_was(written):
    path, table = written
    found = gguf_tensor(path, "plain")
    np.testing.assert_array_equal(found, table)
    assert found.dtype == np.float32


def test_a_quantized_tensor_is_within_half_a_step_of_its_block(written):
    """Q8_0 rounds to 1/127 of the largest entry of 32; the scale itself is a half float."""
    path, table = written
    error = np.abs(gguf_tensor(path, "packed") - table).reshape(3, 2, 32)
    step = np.abs(table).reshape(3, 2, 32).max(-1, keepdims=True) / 127
    assert (error <= 0.5 * step + 1e-3 * np.abs(table).reshape(3, 2, 32)).all()
    assert error.max() > 0


@pytest.mark.parametrize("shape", [(64,), (3, 64), (32, 64), (2, 48, 32)])
@pytest.mark.parametrize("kind", ["F32", "F16", "Q4_1", "Q8_0"])
def test_joined_rows_are_written_out_as_the_gguf_package_does(tmp_path, rng, shape, kind):
    path, kind = tmp_path / "one.gguf", gguf.GGMLQuantizationType[kind]
    packed = gguf.quantize(rng.normal(size=shape).astype(np.float32), kind)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("one", packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    (tensor,) = open_gguf(path).tensors
    found = gguf_numbers(tensor)
    assert found.shape == shape
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, gguf.dequantize(tensor.data, tensor.tensor_type))


def test_fields_are_those_of_the_reader_of_the_gguf_package(written):
    path, _ = written
    ours, theirs = open_gguf(path).fields, gguf.GGUFReader(path).fields
    assert list(ours) == list(theirs)
    name = "tokenizer.ggml.tokens"
    assert ours[name].contents() == theirs[name].contents() == ["a", "ß", "<end>"]
    for key, field in ours.items():
        assert (field.offset, field.data, field.types) == (
            theirs[key].offset,
            theirs[key].data,
            theirs[key].types,
        ), key
        for part, other in zip(field.parts, theirs[key].parts, strict=True):
            assert part.dtype == other.dtype
            np.testing.assert_array_equal(part, other)


def test_strings_of_the_other_byte_order_are_read_too(tmp_path):
    path = tmp_path / "big.gguf"
    writer = gguf.GGUFWriter(path, "llama", endianess=gguf.GGUFEndian.BIG)
    writer.add_token_list(["a", "ß", "<end>"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = open_gguf(path).fields["tokenizer.ggml.tokens"]
    assert found.contents() == ["a", "ß", "<end>"]


def test_what_it_reads_is_no_memory_map(written):
    """A slice of a memory map is a costly object, and there are half a million of them."""
    assert type(open_gguf(written[0]).data) is np.ndarray


def test_an_unknown_tensor_is_an_error_that_lists_some(written):
    with pytest.raises(InputError, match=r"no tensor 'head'; it has 2, such as packed, plain"):
        gguf_tensor(written[0], "head")


def test_what_is_no_gguf_file_is_refused(tmp_path):
    path = tmp_path / "text.gguf"
    path.write_text("hello, this is no tensor at all")
    with pytest.raises(DataError, match="is not a GGUF file"):
        open_gguf(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match="there is no file"):
        open_gguf(tmp_path / "nothing.gguf")


def test_a_missing_package_is_named(written, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "gguf":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DataNotFoundError, match="pip install 'gguf"):
        open_gguf(written[0])


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.int32])
def test_numbers_that_are_not_packed_are_those_of_the_file(tmp_path, dtype):
    path, table = tmp_path / "one.gguf", np.arange(-6, 6, dtype=dtype).reshape(3, 4)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("one", table)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = gguf_tensor(path, "one")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, table)

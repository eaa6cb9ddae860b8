import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.text import ByteBPE
from mathlm.text.tokenizers.bpe import whole_number

BYTES = [bytes([i]) for i in range(256)]


def test_ids_need_not_be_in_the_order_of_bytes():
    bpe = ByteBPE([b"ab", b"b", b"a", b"<x>"], [(2, 1)], {"<x>": 3})
    assert bpe.encode("ab<x>", allowed_special="all") == [0, 3]


@pytest.mark.parametrize("merges", [[(256, 97)], [(97, 97), (257, 97)], [(97, -1)]])
def test_merge_that_uses_a_later_token_is_refused(merges):
    with pytest.raises(InputError, match=rf"merge {len(merges) - 1}\b"):
        ByteBPE.from_merges(merges)


def test_merges_in_the_wrong_order_are_refused():
    tokens = [*BYTES, b"ab", b"abc"]
    with pytest.raises(InputError, match="merge 0 of 256 and 99 uses token 256"):
        ByteBPE(tokens, [(256, 99), (97, 98)])


def test_merge_whose_product_is_no_token_is_refused():
    with pytest.raises(InputError, match="merge 0: b'ab' is no token"):
        ByteBPE(BYTES, [(97, 98)])


def test_merge_that_makes_a_token_again_is_refused():
    """(ab)c and a(bc) are the same bytes; training never learns both."""
    tokens = [*BYTES, b"ab", b"bc", b"abc"]
    with pytest.raises(InputError, match="merge 3: b'abc' is token 258 already"):
        ByteBPE(tokens, [(97, 98), (98, 99), (256, 99), (97, 257)])


@pytest.mark.parametrize("token", [b"", b"a"])
def test_token_that_is_empty_or_repeated_is_refused(token):
    with pytest.raises(InputError, match=r"256 (is b''|are both)|and 256 are both b'a'"):
        ByteBPE([*BYTES, token], [])


@pytest.mark.parametrize("token", [-1, 257, True])
def test_special_id_outside_the_vocabulary_is_refused(token):
    with pytest.raises(InputError, match=rf"special '<x>' has id {token}, outside 0\.\.256"):
        ByteBPE([*BYTES, b"<x>"], [], {"<x>": token})


def test_special_id_of_another_token_is_refused():
    with pytest.raises(InputError, match="id 97 is b'a', not the special '<x>'"):
        ByteBPE([*BYTES, b"<x>"], [], {"<x>": 97})


def test_merge_of_a_special_token_is_refused():
    with pytest.raises(InputError, match="uses token 256"):
        ByteBPE([*BYTES, b"<x>", b"<x>a"], [(256, 97)], {"<x>": 256})


def test_byte_without_a_token_is_named_and_never_dropped():
    bpe = ByteBPE([b"a", b"b"], [])
    with pytest.raises(InputError, match="byte 0x63 of the word 'abc'"):
        bpe.encode("abc")


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3), torch.tensor(3)])
def test_integers_of_python_numpy_and_torch_are_whole_numbers(value):
    assert whole_number(value) == 3
    assert type(whole_number(value)) is int


@pytest.mark.parametrize("value", [True, np.True_, 3.0, np.float64(3), "3", None])
def test_other_values_are_no_whole_numbers(value):
    assert whole_number(value) is None


@pytest.mark.parametrize("value", [torch.tensor(True), torch.tensor([3]), np.array([3])])
def test_booleans_and_rows_of_one_element_are_no_whole_numbers(value):
    assert whole_number(value) is None


@pytest.mark.usefixtures("unchecked")
def test_integers_of_numpy_are_ids_of_merges_and_special_tokens(tmp_path):
    special = {"<x>": np.int64(257)}
    bpe = ByteBPE([*BYTES, b"ab", b"<x>"], np.array([[97, 98]]), special)
    assert bpe == ByteBPE([*BYTES, b"ab", b"<x>"], [(97, 98)], {"<x>": 257})
    bpe.save(tmp_path / "bpe.json")
    assert ByteBPE.load(tmp_path / "bpe.json") == bpe


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "merges", [3, [3], [(97.0, 98.0)], [(97,)], [(97, 98, 99)], ["ab"], [None]]
)
@pytest.mark.parametrize("make", [ByteBPE.from_merges, lambda merges: ByteBPE(BYTES, merges)])
def test_merges_that_are_no_pairs_of_integers_are_refused(make, merges):
    with pytest.raises(
        InputTypeError, match=r"merge 0 is .*, expected two ids|must be a list of"
    ):
        make(merges)


@pytest.mark.usefixtures("unchecked")
def test_tokens_and_special_tokens_of_another_kind_are_refused():
    with pytest.raises(InputTypeError, match="tokens=None must be a list of bytes"):
        ByteBPE(None, [])
    with pytest.raises(InputTypeError, match=r"special=\['<x>'\] must map names to ids"):
        ByteBPE([*BYTES, b"<x>"], [], ["<x>"])
    with pytest.raises(InputError, match="token 256 is bytearray"):
        ByteBPE([*BYTES, bytearray(b"<x>")], [], {"<x>": 256})

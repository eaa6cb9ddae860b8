"""The most probable tokens of logits whose softmax is known."""

import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import logit_lens, top_tokens
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes


def logits_of(*rows):
    """Logits whose softmax has these probabilities at some bytes, and 0 elsewhere."""
    z = torch.full((len(rows), 256), -math.inf)
    for row, shares in zip(z, rows, strict=True):
        for letter, p in shares.items():
            row[ord(letter)] = math.log(p) + 5  # a softmax does not hear the 5
    return z


FIRST, SECOND = {"a": 0.5, "\n": 0.25, "c": 0.125, "d": 0.125}, {"d": 0.75, "a": 0.25}


def test_probabilities_and_texts_by_hand():
    found = top_tokens(logits_of(FIRST)[0], Bytes(), k=2)
    assert found.ids.tolist() == [97, 10]
    assert found.probabilities.tolist() == pytest.approx([0.5, 0.25])
    assert [text for text, _ in found.pairs] == ["a", "\n"]
    assert [p for _, p in found.pairs] == pytest.approx([0.5, 0.25])


def test_probabilities_are_those_among_all_tokens_and_not_among_the_k():
    z = torch.randn(3, 256)
    found = top_tokens(z, Bytes(), k=256)
    torch.testing.assert_close(found.probabilities.sum(-1), torch.ones(3))
    few = top_tokens(z, Bytes(), k=4)
    torch.testing.assert_close(few.probabilities, found.probabilities[:, :4])
    p = z.exp() / z.exp().sum(-1, keepdim=True)
    torch.testing.assert_close(few.probabilities, p.gather(1, few.ids))


def test_one_position_is_printed_one_token_a_line():
    assert repr(top_tokens(logits_of(FIRST)[0], Bytes(), k=2)) == "'a'   0.500\n'\\n'  0.250"


def test_positions_are_printed_one_a_line():
    found = top_tokens(logits_of(FIRST, SECOND), Bytes(), k=2)
    assert repr(found) == "0  'a' 0.500  '\\n' 0.250\n1  'd' 0.750  'a' 0.250"


def test_depths_are_printed_as_a_grid_of_the_likeliest():
    z = torch.stack([logits_of(FIRST, SECOND), logits_of(SECOND, {"\n": 1.0})])
    found = top_tokens(z, Bytes(), k=2)
    assert repr(found) == "0  'a' 0.500  'd' 0.750\n1  'd' 0.750  '\\n' 1.000"
    assert [text for text, _ in found.pairs[1][0]] == ["d", "a"]


def test_a_logit_lens_ends_with_what_the_model_says():
    sizes = {"vocab_size": 256, "context": 8, "d_model": 8, "n_layers": 2, "n_heads": 2}
    model = GPT(GPTConfig(**sizes))
    ids = torch.tensor([list(b"to be")])
    found = top_tokens(logit_lens(model, ids)[:, 0], Bytes(), k=3)
    assert found.ids.shape == (3, 5, 3)
    expected = model(ids)[0].softmax(-1).sort(descending=True)
    assert torch.equal(found.ids[-1], expected.indices[:, :3])
    torch.testing.assert_close(found.probabilities[-1], expected.values[:, :3])


def test_half_precision_is_taken_in_float32():
    found = top_tokens(torch.zeros(256, dtype=torch.bfloat16), Bytes(), k=1)
    assert found.probabilities.dtype == torch.float32
    assert found.probabilities.item() == 1 / 256


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("logits", "k", "error", "message"),
    [
        (torch.zeros(2, 2, 2, 256), 5, InputError, r"take one text of a batch.* lens\[:, 0\]"),
        (torch.tensor(1.0), 5, InputError, r"expected \(V,\), \(T, V\) or"),
        (torch.zeros(256), 257, InputError, r"k=257 must be in 1\.\.256"),
        (torch.zeros(256), 0, InputError, "k=0 must be in"),
        (torch.zeros(256), 2.0, InputTypeError, "k=2.0 must be an integer"),
        (torch.full((256,), torch.nan), 5, InputError, "256 of 256 logits are NaN"),
        (torch.zeros(256).long(), 5, InputTypeError, "must be floating-point numbers"),
        ([0.0] * 256, 5, InputTypeError, r"logits is a list, expected a tensor"),
        (torch.zeros(300), 300, InputError, "an id is no byte"),
    ],
)
def test_what_has_no_top_tokens_is_refused(logits, k, error, message):
    with pytest.raises(error, match=message):
        top_tokens(logits, Bytes(), k)

import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import strided_likelihood, token_cross_entropy
from mathlm.models import GPT, GPTConfig

SIZES = [(8, 8), (8, 1), (8, 3), (8, 5), (5, 2), (100, 7), (1, 1)]  # context, stride


@pytest.fixture
def model():
    config = GPTConfig(vocab_size=11, context=64, d_model=8, n_layers=1, n_heads=2)
    gpt = GPT(config)
    for p in gpt.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return gpt.eval()


@pytest.fixture
def text():
    return torch.randint(11, (37,))


def one_by_one(model, text, context, stride):
    """Each window by hand: read it, and score what no window before it has."""
    nats, scored, start = 0.0, 1, 0
    while scored < len(text):
        stop = min(start + context, len(text) - 1)
        loss = token_cross_entropy(
            model(text[None, start:stop]), text[None, start + 1 : stop + 1]
        )
        nats += loss[0, scored - start - 1 :].sum().item()
        scored, start = stop + 1, start + stride
    return nats


@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize(("context", "stride"), SIZES)
def test_nats_are_those_of_windows_read_one_by_one(model, text, context, stride, batch_size):
    nats, count = strided_likelihood(model, text, context, stride, batch_size=batch_size)
    assert count == 36
    assert nats == pytest.approx(one_by_one(model, text, context, stride), rel=1e-12)


@pytest.mark.parametrize(("context", "stride"), SIZES)
@pytest.mark.parametrize("tokens", [2, 7, 8, 9, 10, 16, 17, 30])
def test_each_token_is_scored_once_whatever_the_sizes(context, stride, tokens):
    """Every logit is 0, so that each of the scored tokens costs log 11."""
    nats, count = strided_likelihood(
        lambda ids: torch.zeros(*ids.shape, 11), torch.zeros(tokens).long(), context, stride
    )
    assert count == tokens - 1
    assert nats == pytest.approx((tokens - 1) * math.log(11), rel=1e-12)


def test_a_scored_token_has_context_minus_stride_before_it():
    """The stand-in is sure of a token only with six others before it: stride 3 of 8."""

    def sure_of_the_seventh(ids):
        enough = torch.arange(1, ids.shape[1] + 1) >= 6
        return torch.stack([torch.zeros(ids.shape), -1e9 * enough.expand(ids.shape)], -1)

    text = torch.zeros(50).long()
    nats, _ = strided_likelihood(sure_of_the_seventh, text, 8, 3)
    assert nats == pytest.approx(5 * math.log(2), rel=1e-12)  # those at the start of the text
    assert strided_likelihood(sure_of_the_seventh, text, 8, 4)[0] > 5.5 * math.log(2)


def test_windows_are_cut_where_the_text_lies():
    """Tokens of meta, which holds no numbers: the model is the last to get something."""

    def reached(ids):
        raise InterruptedError(ids.device)

    with pytest.raises(InterruptedError, match=r"^meta$"):
        strided_likelihood(reached, torch.zeros(9, device="meta").long(), 4, 2)


@pytest.mark.parametrize("side", ["right", "left", "both"])
def test_padding_on_either_side_changes_nothing(model, text, side):
    left, right = (0 if side == "right" else 5), (0 if side == "left" else 4)
    padded = torch.nn.functional.pad(text, (left, right), value=3)
    mask = torch.nn.functional.pad(torch.ones(37, dtype=torch.bool), (left, right))
    alone = strided_likelihood(model, text, 8, 3)
    nats, count = strided_likelihood(model, padded, 8, 3, mask=mask)
    assert (nats, count) == (pytest.approx(alone[0], rel=1e-12), alone[1])


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"stride": 0}, InputError, r"stride=0 must be in 1\.\.context=8"),
        ({"stride": 9}, InputError, r"stride=9 must be in 1\.\.context=8"),
        ({"batch_size": 0}, InputError, "batch_size=0 at least 1"),
        ({"ids": torch.zeros(5)}, InputTypeError, "int64, got torch.float32"),
        ({"ids": torch.zeros(2, 5).long()}, InputError, r"shape \(2, 5\)"),
        ({"ids": torch.zeros(1).long()}, InputError, "1 tokens"),
        ({"mask": torch.ones(4).bool()}, InputError, r"mask \(4,\)"),
        ({"mask": torch.ones(9)}, InputTypeError, "mask must be bool"),
        ({"mask": torch.zeros(9).bool()}, InputError, "0 tokens"),
    ],
)
def test_texts_that_cannot_be_scored_are_refused(how, error, says):
    asked = {"ids": torch.zeros(9).long(), "context": 8, "stride": 4} | how
    with pytest.raises(error, match=says):
        strided_likelihood(lambda ids: torch.zeros(*ids.shape, 2), **asked)

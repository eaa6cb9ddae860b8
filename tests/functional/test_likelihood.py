import math
import sys

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import cross_entropy, pad_documents, perplexity
from mathlm.models import GPT, GPTConfig

LENGTHS = (9, 3, 12, 2, 6, 12, 7)
SPLITS = [[1] * 7, [7], [3, 4], [2, 2, 3], [6, 1]]


@pytest.fixture
def documents():
    return [torch.randint(20, (n,)) for n in LENGTHS]


@pytest.fixture(params=["rope", "learned", "alibi"])
def model(request):
    config = GPTConfig(
        vocab_size=20, context=16, d_model=16, n_layers=2, n_heads=2, position=request.param
    )
    gpt = GPT(config)
    for p in gpt.parameters():  # far from the uniform start, where every mistake costs log V
        torch.nn.init.normal_(p, std=0.3)
    return gpt.eval()


def nats(model, batch, side):
    ids, mask, targets = pad_documents(batch, side)
    return cross_entropy(model(ids, mask=mask), targets)


def total(model, documents, split, side):
    starts = [sum(split[:i]) for i in range(len(split))]
    batches = [documents[s : s + n] for s, n in zip(starts, split, strict=True)]
    parts = [nats(model, batch, side) for batch in batches]
    return sum(loss.item() for loss, _ in parts), sum(int(n) for _, n in parts)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("split", SPLITS, ids=str)
def test_nats_do_not_depend_on_batches_or_padding(model, documents, split, side):
    alone = [nats(model, [x], "right")[0].item() for x in documents]
    loss, count = total(model, documents, split, side)
    assert count == sum(LENGTHS) - len(LENGTHS)
    assert loss == pytest.approx(sum(alone), rel=1e-12)


@pytest.mark.parametrize("side", ["right", "left"])
def test_each_document_costs_in_company_what_it_costs_alone(model, documents, side):
    ids, mask, targets = pad_documents(documents, side)
    logits = model(ids, mask=mask)
    together = torch.stack(
        [cross_entropy(z, y)[0] for z, y in zip(logits, targets, strict=True)]
    )
    alone = torch.stack([nats(model, [x], "right")[0] for x in documents])
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=0)


def test_a_mean_of_batch_means_depends_on_the_split(model, documents):
    def wrong(split):
        starts = [sum(split[:i]) for i in range(len(split))]
        parts = [
            nats(model, documents[s : s + n], "right")
            for s, n in zip(starts, split, strict=True)
        ]
        return sum((loss / n).item() for loss, n in parts) / len(parts)

    right, count = total(model, documents, [7], "right")
    assert abs(wrong([1] * 7) - right / count) > 1e-3
    assert wrong([7]) == pytest.approx(right / count, rel=1e-12)


def test_padded_positions_predict_nothing():
    """Documents 1 2 3 and 4 5: the second has one target, and one position of padding."""
    ids, mask, targets = pad_documents([torch.tensor([1, 2, 3]), torch.tensor([4, 5])], "left")
    assert ids.tolist() == [[1, 2], [0, 4]]
    assert mask.tolist() == [[True, True], [False, True]]
    assert targets.tolist() == [[2, 3], [-100, 5]]


def test_padding_stands_on_the_right_unless_asked_for_on_the_left():
    ids, mask, targets = pad_documents([torch.tensor([1, 2, 3]), torch.tensor([4, 5])])
    assert ids.tolist() == [[1, 2], [4, 0]]
    assert mask.tolist() == [[True, True], [True, False]]
    assert targets.tolist() == [[2, 3], [5, -100]]


def test_padded_documents_lie_where_the_documents_do():
    parts = pad_documents([torch.ones(n, dtype=torch.int64, device="meta") for n in (3, 2)])
    assert [x.device.type for x in parts] == ["meta"] * 3


def test_perplexity_of_twenty_equal_choices_is_twenty():
    assert perplexity(5 * math.log(20), 5) == pytest.approx(20)
    assert perplexity(0, 3) == 1


def test_perplexity_beyond_the_largest_float_is_infinite():
    assert perplexity(710.0, 1) == math.inf
    assert perplexity(math.inf, 1) == math.inf
    largest = math.log(sys.float_info.max)  # its exponential is a float, that of the next not
    assert perplexity(largest, 1) == pytest.approx(sys.float_info.max, rel=1e-12)
    assert perplexity(math.nextafter(largest, math.inf), 1) == math.inf


@pytest.mark.parametrize(
    ("nats", "count"), [(1.0, 0), (-1.0, 2), (math.nan, 2), (3.0, math.inf)]
)
def test_what_has_no_perplexity_is_refused(nats, count):
    with pytest.raises(InputError, match=f"nats={nats} over count={count} targets"):
        perplexity(nats, count)


@pytest.mark.parametrize(
    ("documents", "side", "error", "message"),
    [
        ([], "right", InputError, "no documents"),
        ([torch.tensor([1])], "right", InputError, r"document 0 has shape \(1,\)"),
        ([torch.tensor([1.0, 2.0])], "left", InputTypeError, "dtype torch.float32"),
    ],
)
def test_documents_that_cannot_be_padded_are_refused(documents, side, error, message):
    with pytest.raises(error, match=message):
        pad_documents(documents, side)

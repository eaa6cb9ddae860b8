"""Rows that begin alike, read once: the numbers of reading each on its own."""

import pytest
import torch
from torch.testing import assert_close

from mathlm.models import GPT, GPTConfig, shared_hidden, shared_rows

ROWS = torch.tensor(
    [
        [1, 2, 3, 4, 5, 6],
        [1, 2, 3, 5, 5, 6],
        [1, 2, 3, 4, 5, 0],
        [2, 2, 3, 4, 0, 0],
        [1, 2, 3, 4, 5, 6],
        [7, 0, 0, 0, 0, 0],
    ]
)
LENGTHS = torch.tensor([6, 6, 5, 4, 6, 1])
COUNTS = torch.arange(6) < LENGTHS[:, None]
KINDS = {
    "learned": {},
    "rope, grouped": {"position": "rope", "n_kv_heads": 1, "qk_norm": True},
    "alibi": {"position": "alibi"},
    "relative": {"position": "relative"},
    "sinusoidal": {"position": "sinusoidal", "bias": True},
    "window": {"position": "none", "window": 2},
}
kinds = pytest.mark.parametrize("options", KINDS.values(), ids=KINDS.keys())


def model(**options):
    sizes = {"vocab_size": 9, "d_model": 16, "n_layers": 2, "n_heads": 2, "context": 8}
    return GPT(GPTConfig(**(sizes | options))).eval()


def test_each_beginning_is_kept_once():
    """As many as there are distinct prefixes of the rows, in a set of them."""
    rows = shared_rows(ROWS, LENGTHS)
    prefixes = {
        tuple(row[: t + 1].tolist())
        for row, n in zip(ROWS, LENGTHS, strict=True)
        for t in range(n)
    }
    assert len(rows.first) == len(prefixes) == 14
    assert sorted(rows.place[COUNTS].unique().tolist()) == list(range(14))
    assert torch.equal(rows.place.flatten()[rows.first], torch.arange(14))
    assert torch.equal(ROWS.flatten()[rows.first][rows.place[COUNTS]], ROWS[COUNTS])


@kinds
def test_what_the_head_reads_is_that_of_each_row_on_its_own(options):
    network, rows = model(**options), shared_rows(ROWS, LENGTHS)
    found = shared_hidden(network, ROWS, rows)[rows.place]
    assert_close(found[COUNTS], network.hidden(ROWS)[COUNTS], rtol=0, atol=1e-12)


@kinds
def test_gradients_are_those_of_each_row_on_its_own(options):
    network, rows = model(**options), shared_rows(ROWS, LENGTHS)
    weight = torch.randn(int(COUNTS.sum()), 16)
    found = []
    for hidden in (shared_hidden(network, ROWS, rows)[rows.place], network.hidden(ROWS)):
        network.zero_grad()
        (hidden[COUNTS] * weight).sum().backward()
        found.append(
            {n: p.grad.clone() for n, p in network.named_parameters() if n[:4] != "head"}
        )
    for name, gradient in found[0].items():
        assert_close(gradient, found[1][name], rtol=0, atol=1e-11)


def test_padding_changes_no_bit():
    network, other = model(), ROWS.masked_fill(~COUNTS, 8)
    first, second = (
        shared_hidden(network, ids, shared_rows(ids, LENGTHS)) for ids in (ROWS, other)
    )
    assert torch.equal(first, second)

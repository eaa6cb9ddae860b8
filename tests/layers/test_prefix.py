import pytest
import torch
from torch.testing import assert_close

from mathlm.layers import GatedPrefixKV, LayerCache, PrefixKV, SelfAttention
from mathlm.models.layout import Layout

SEES = torch.tensor([[True, False], [False, False]])  # the second query sees nothing
PLACES = torch.arange(2)


@pytest.mark.parametrize("gated", [False, True])
def test_a_query_that_sees_nothing_of_the_text_reads_no_prefix(gated):
    attention = SelfAttention(4, 2)
    x, k, v = torch.randn(1, 2, 4), torch.randn(2, 3, 2), torch.randn(2, 3, 2)
    if gated:
        y = GatedPrefixKV(k, v, torch.ones(2))(attention, x, mask=SEES)[0]
    else:
        mask = Layout(PLACES, PLACES, None, SEES, False).behind(3).mask
        y = attention(x, mask=mask, cache=PrefixKV(k, v))[0]
    assert torch.equal(y[1], torch.zeros(4))
    assert not torch.allclose(y[0], attention(x, mask=SEES)[0, 0])


def test_a_prefix_before_a_cache_is_read_like_tokens_before_the_text():
    """The prefix is what the attention has for 3 vectors: 7 in a row give the same."""
    attention, x = SelfAttention(8, 4, 2), torch.randn(1, 7, 8)
    _, k, v = attention.project(x[:, :3])
    text = LayerCache(torch.zeros(1, 2, 4, 2), torch.zeros(1, 2, 4, 2))
    prefix = PrefixKV(k[0], v[0], text)
    with torch.no_grad():
        read = [attention(part, cache=prefix) for part in x[:, 3:].split((3, 1), 1)]
    assert_close(torch.cat(read, 1), attention(x)[:, 3:])
    assert text.length == 4


def test_a_prefix_has_gradients_where_a_cache_has_none():
    attention, k = SelfAttention(4, 2), torch.randn(2, 3, 2, requires_grad=True)
    attention(torch.randn(1, 2, 4), cache=PrefixKV(k, torch.randn(2, 3, 2))).sum().backward()
    assert k.grad is not None
    assert k.grad.abs().min() > 0

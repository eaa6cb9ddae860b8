import pytest
import torch

from mathlm.layers import SelfAttention
from mathlm.layers.prefix import Ahead, GatedAhead

SEES = torch.tensor([[True, False], [False, False]])  # the second query sees nothing


@pytest.mark.parametrize("gated", [False, True])
def test_a_query_that_sees_nothing_of_the_text_reads_no_prefix(gated):
    attention = SelfAttention(4, 2)
    k, v = torch.randn(2, 3, 2), torch.randn(2, 3, 2)
    ahead = GatedAhead(k, v, torch.ones(2)) if gated else Ahead(k, v)
    x = torch.randn(1, 2, 4)
    y = attention(x, mask=SEES, ahead=ahead)[0]
    assert torch.equal(y[1], torch.zeros(4))
    assert not torch.allclose(y[0], attention(x, mask=SEES)[0, 0])

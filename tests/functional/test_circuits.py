import pytest
import torch

from mathlm.errors import InputError
from mathlm.functional import head_contributions, output_value_circuit, query_key_circuit
from mathlm.layers import SelfAttention

SIZES = pytest.mark.parametrize("n_kv_heads", [1, 2, 4])


def layer(n_kv_heads, d_head=3):
    torch.manual_seed(0)
    return SelfAttention(12, 4, n_kv_heads, d_head, causal=False)


@SIZES
def test_scores_of_a_head_are_its_circuit_between_token_vectors(n_kv_heads):
    attention, x, taps = layer(n_kv_heads), torch.randn(1, 5, 12), {}
    attention(x, taps=taps)
    circuit = query_key_circuit(attention.W_q.weight, attention.W_k.weight, 4)
    weights = (x @ circuit @ x.mT / 3**0.5).softmax(-1)
    torch.testing.assert_close(weights, taps["weights"][0], rtol=1e-12, atol=1e-14)


@SIZES
@pytest.mark.parametrize("d_head", [2, 3])  # the heads together: 8 or 12, as wide as the stream
def test_a_layer_is_the_sum_of_circuits_applied_to_weighted_means_of_its_input(
    n_kv_heads, d_head
):
    attention, x, taps = layer(n_kv_heads, d_head), torch.randn(1, 5, 12), {}
    y = attention(x, taps=taps)
    circuit = output_value_circuit(attention.W_o.weight, attention.W_v.weight, 4)
    means = taps["weights"][0] @ x  # (H, T, D)
    torch.testing.assert_close((means @ circuit.mT).sum(0), y[0], rtol=1e-12, atol=1e-14)


@SIZES
def test_no_circuit_has_a_rank_above_the_width_of_the_head(n_kv_heads):
    attention = layer(n_kv_heads)
    maps = (attention.W_q.weight, attention.W_k.weight, attention.W_o.weight)
    assert (torch.linalg.matrix_rank(query_key_circuit(*maps[:2], 4)) == 3).all()
    values = output_value_circuit(maps[2], attention.W_v.weight, 4)
    assert (torch.linalg.matrix_rank(values) == 3).all()


@SIZES
def test_contributions_of_the_heads_sum_to_the_output(n_kv_heads):
    attention, x, taps = layer(n_kv_heads), torch.randn(2, 5, 12), {}
    y = attention(x, taps=taps)
    parts = head_contributions(taps["heads"], attention.W_o.weight)
    assert parts.shape == (2, 4, 5, 12)
    torch.testing.assert_close(parts.sum(1), y, rtol=1e-12, atol=1e-14)


def test_rows_that_do_not_divide_are_refused():
    W = torch.ones(6, 5)
    with pytest.raises(InputError, match="rows of W_q = 6 is not a multiple of n_heads = 4"):
        query_key_circuit(W, W, 4)
    with pytest.raises(InputError, match=r"n_heads = 3 .* of number of key/value heads = 2"):
        query_key_circuit(W, W[:4], 3)
    with pytest.raises(InputError, match=r"rows of the shared weight = 5 .* of a head = 3"):
        query_key_circuit(W, W[:5], 2)
    with pytest.raises(InputError, match="columns of W_o = 5 is not a multiple of n_heads = 2"):
        output_value_circuit(W.mT[:, :5], W[:, :5], 2)
    with pytest.raises(InputError, match="n_heads=0 must be a whole number of at least 1"):
        query_key_circuit(W, W, 0)


def test_a_mixer_of_another_width_is_refused():
    with pytest.raises(InputError, match="5 columns for 2 heads of width 3; expected 6"):
        head_contributions(torch.ones(2, 4, 3), torch.ones(6, 5))


def test_weights_of_two_streams_are_refused(unchecked):
    W = torch.ones(6, 5)
    with pytest.raises(InputError, match="W_q has 5 columns and W_k has 4"):
        query_key_circuit(W, W[:, :4], 2)
    with pytest.raises(InputError, match="W_o has 5 rows and W_v has 4 columns"):
        output_value_circuit(W.mT, W[:, :4], 2)
    with pytest.raises(InputError, match=r"heads \(4, 3\) must be"):
        head_contributions(torch.ones(4, 3), torch.ones(6, 3))

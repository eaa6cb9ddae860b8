"""Heads taken away, against models whose weights were changed by hand."""

import copy

import pytest
import torch

from mathlm.adapt import add_prefix
from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import head_means, record, without_heads
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

IDS = torch.arange(24).view(3, 8) % 20
L, H, K = 3, 4, 2


def small(**changes):
    sizes = {"vocab_size": 20, "context": 16, "d_model": 8, "n_layers": L, "n_heads": H}
    model = GPT(GPTConfig(**sizes | changes))
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


def columns(head):
    return slice(head * K, (head + 1) * K)


@torch.no_grad()
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_a_head_is_gone_when_no_column_of_the_output_map_reads_it(n_kv_heads):
    model = small(n_kv_heads=n_kv_heads, position="rope")
    by_hand = copy.deepcopy(model)
    by_hand.blocks[1].attention.W_o.weight[:, columns(2)] = 0.0
    by_hand.blocks[2].attention.W_o.weight[:, columns(0)] = 0.0
    found = without_heads(model, IDS, [(1, 2), (2, 0)])
    torch.testing.assert_close(found, by_hand(IDS), rtol=1e-12, atol=1e-12)
    assert (found - model(IDS)).abs().max() > 1e-2


@torch.no_grad()
def test_a_head_that_says_its_mean_adds_the_same_vector_everywhere():
    """headₕ = m gives W_o[:, h] m at every position: a bias in place of the columns."""
    model = small()
    means, by_hand = head_means(model, IDS), copy.deepcopy(model)
    output = by_hand.blocks[1].attention.W_o
    output.bias += output.weight[:, columns(3)] @ means[1, 3]
    output.weight[:, columns(3)] = 0.0
    found = without_heads(model, IDS, [(1, 3)], means=means)
    torch.testing.assert_close(found, by_hand(IDS), rtol=1e-12, atol=1e-12)
    assert (found - without_heads(model, IDS, [(1, 3)])).abs().max() > 1e-2


def test_means_are_over_all_real_tokens():
    model, mask = small(), torch.arange(8) < torch.tensor([[8], [5], [1]])
    heads = record(model, IDS, mask)["blocks.2.attention.heads"]  # (B, H, T, K)
    expected = heads.transpose(1, 2)[mask].mean(0)
    torch.testing.assert_close(head_means(model, IDS, mask)[2], expected)
    assert head_means(model, IDS).shape == (L, H, K)


def test_without_none_the_model_is_whole():
    model = small()
    torch.testing.assert_close(without_heads(model, IDS, []), model(IDS), rtol=0, atol=1e-12)


def test_without_all_heads_no_token_hears_of_another():
    model = small(position="none")
    everything = torch.ones(L, H, dtype=torch.bool)
    found = without_heads(model, torch.tensor([[3, 5, 3], [3, 9, 3]]), everything)
    torch.testing.assert_close(found[:, 2], found[:, 0], rtol=1e-12, atol=1e-12)


def test_each_row_may_lose_other_heads():
    model, gone = small(), torch.zeros(3, L, H, dtype=torch.bool)
    gone[0, 1, 2] = gone[2, 0, 0] = gone[2, 2, 3] = True
    found = without_heads(model, IDS, gone)
    pairs = [[(1, 2)], [], [(0, 0), (2, 3)]]
    rows = [without_heads(model, IDS[i : i + 1], heads) for i, heads in enumerate(pairs)]
    torch.testing.assert_close(found, torch.cat(rows), rtol=1e-12, atol=1e-12)


def test_it_works_on_a_bert_and_with_padding():
    bert = Bert(BertConfig(vocab_size=20, context=16, d_model=8, n_layers=2, n_heads=4))
    mask, by_hand = torch.arange(8).expand(3, 8) < 5, copy.deepcopy(bert)
    by_hand.blocks[1].attention.W_o.weight.data[:, columns(1)] = 0.0
    found = without_heads(bert, IDS, [(1, 1)], mask=mask)
    torch.testing.assert_close(found[mask], by_hand(IDS, mask=mask)[mask])


@pytest.mark.parametrize("pair", [(L, 0), (0, H), (-1, 0), (0, -1)])
def test_a_head_that_is_not_there_is_refused(pair):
    with pytest.raises(
        InputError, match=rf"no head \({pair[0]}, {pair[1]}\): .* 0 to 2, .* 0 to 3"
    ):
        without_heads(small(), IDS, [pair])


def test_tables_that_do_not_fit_are_refused():
    with pytest.raises(InputTypeError, match=r"heads must be bool, .* got float64"):
        without_heads(small(), IDS, torch.ones(L, H))
    for shape in [(H, L), (2, L, H), (L,)]:
        with pytest.raises(InputError, match=r"must be \(3, 4\), or \(3, 3, 4\)"):
            without_heads(small(), IDS, torch.ones(shape, dtype=torch.bool))
    with pytest.raises(InputError, match=r"means \(3, 4\) must be \(3, 4, d_head\)"):
        without_heads(small(), IDS, [(0, 0)], means=torch.zeros(L, H))


def test_a_model_without_heads_is_refused():
    with pytest.raises(InputTypeError, match="Linear has no configuration with heads"):
        without_heads(torch.nn.Linear(2, 2), IDS, [])


@pytest.mark.parametrize("pair", [(0, 1, 2), 0, (0.5, 1)])
def test_heads_that_are_not_pairs_of_whole_numbers_are_refused(unchecked, pair):
    with pytest.raises(InputError, match="heads holds"):
        without_heads(small(), IDS, [pair])


@pytest.mark.parametrize(
    ("means", "says"),
    [
        (torch.full((L, H, K), torch.nan), "means holds 24 NaN"),
        (torch.zeros(L, H, K + 1), "must end with the head width 2"),
    ],
)
def test_means_that_no_head_could_say_are_refused(means, says):
    with pytest.raises(InputError, match=says):
        without_heads(small(), IDS, [(0, 0)], means=means)


def test_a_mean_over_no_token_is_refused():
    with pytest.raises(InputError, match=r"no token of the \(3, 8\) ids is real"):
        head_means(small(), IDS, torch.zeros(3, 8, dtype=torch.bool))


@pytest.mark.usefixtures("unchecked")
def test_heads_ids_and_means_of_another_kind_are_refused():
    model = small()
    with pytest.raises(InputTypeError, match=r"ids must be a tensor \(B, T\), got list"):
        without_heads(model, IDS.tolist(), [(0, 0)])
    with pytest.raises(InputTypeError, match=r"heads must be pairs .* got int"):
        without_heads(model, IDS, 3)
    with pytest.raises(InputTypeError, match=r"means must be a tensor \(L, H, K\), got list"):
        without_heads(model, IDS, [(0, 0)], means=[0.0])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "mask", [[[True] * 8] * 3, torch.ones(3, 8, 8).bool()], ids=["list", "3-d"]
)
def test_a_mask_that_does_not_say_which_tokens_are_real_gives_no_means(mask):
    with pytest.raises(InputError, match="mask must say of each token whether it is real"):
        head_means(small(), IDS, mask)


def test_a_gated_prefix_from_which_heads_speak_too_is_refused():
    model = add_prefix(small(), 2, gated=True).eval()
    with pytest.raises(InputError, match="gated prefix, from which its heads speak too"):
        without_heads(model, IDS, [(0, 1)])

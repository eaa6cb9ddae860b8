import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn.functional import scaled_dot_product_attention

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    dot_product_attention,
    multi_head_attention,
    multi_head_attention_backward,
    numerical_vjp,
    self_attention,
    self_attention_backward,
)

T, S, D, H = 4, 5, 6, 4
BATCHES = pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
GROUPS = pytest.mark.parametrize("G", [4, 2, 1], ids=["multi-head", "grouped", "multi-query"])


def causal(T, S):
    return np.tril(np.ones((T, S), dtype=bool), S - T)


def window(T, S):
    return causal(T, S) & ~np.tril(np.ones((T, S), dtype=bool), S - T - 2)


def padding(rng, batch, S):
    """The keys at the end of each sequence are padding; the first is real."""
    lengths = rng.integers(1, S + 1, size=(*batch, 1, 1, 1))
    return np.arange(S) < lengths


def with_blind_rows(rng, batch, T, S):
    """Half of the pairs, other ones in each head; query 1 of head 0 and query 2 see nothing."""
    mask = rng.random((*batch, H, T, S)) < 0.5
    mask[..., 0, 1, :], mask[..., 2, :] = False, False
    return mask


MASKS = {
    "none": lambda rng, batch, T, S: None,
    "causal": lambda rng, batch, T, S: causal(T, S),
    "window": lambda rng, batch, T, S: window(T, S),
    "padding": lambda rng, batch, T, S: padding(rng, batch, S),
    "per head": lambda rng, batch, T, S: (
        (rng.random((*[1 for _ in batch], H, T, S)) < 0.6) | causal(T, S)
    ),
    "blind rows": with_blind_rows,
}
ALL_MASKS = pytest.mark.parametrize("kind", list(MASKS))
SEEING = pytest.mark.parametrize("kind", ["none", "causal", "padding", "per head"])


def draw_weights(rng, G=H, bias=True, source=D, H=H, D=D, K=3, V=2):
    """Heads of width 3, values of width 2, and an output of width 5."""
    rows = {"W_q": (H * K, D), "W_k": (G * K, source), "W_v": (G * V, source)}
    maps = {n: rng.normal(size=s) / 2 for n, s in (rows | {"W_o": (5, H * V)}).items()}
    weights = {f"{n}.weight": W for n, W in maps.items()}
    biases = {f"{n}.bias": rng.normal(size=len(W)) for n, W in maps.items()}
    return weights | (biases if bias else {})


def gradients(dy, *args, **options):
    return multi_head_attention_backward(dy, multi_head_attention(*args, **options)[1])


def certify(ours, numeric):
    """Agreement to 1e-7 of the largest entry."""
    assert ours.shape == numeric.shape
    assert_allclose(ours, numeric, rtol=0, atol=1e-7 * max(1.0, np.abs(numeric).max()))


def close(ours, theirs):
    """Equal to 1e-12 of the largest entry, at least 1: what cancels keeps its terms' errors."""
    theirs = np.asarray(theirs)
    assert_allclose(ours, theirs, rtol=0, atol=1e-12 * max(1.0, np.abs(theirs).max()))


def by_torch(x, weights, mask, memory=None):
    """Value and leaves, through torch's own grouping of heads."""
    leaves = {n: torch.tensor(w, requires_grad=True) for n, w in weights.items()}
    x = torch.tensor(x, requires_grad=True)
    m = x if memory is None else torch.tensor(memory, requires_grad=True)

    def heads(z, name, n):
        z = torch.nn.functional.linear(z, leaves[f"{name}.weight"], leaves.get(f"{name}.bias"))
        return z.unflatten(-1, (n, -1)).transpose(-2, -3)

    G = len(weights["W_k.weight"]) // (len(weights["W_q.weight"]) // H)
    q, k, v = heads(x, "W_q", H), heads(m, "W_k", G), heads(m, "W_v", G)
    mask = None if mask is None else torch.tensor(mask)
    y = scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    y = y.transpose(-2, -3).flatten(-2)
    y = torch.nn.functional.linear(y, leaves["W_o.weight"], leaves.get("W_o.bias"))
    return y, x, leaves, (None if memory is None else m)


def draw_single(rng, batch=()):
    shapes = [(*batch, T, D), (3, D), (3, D), (2, D), (*batch, T, 2)]
    return [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize("kind", ["none", "window"])
def test_self_attention_backward_matches_central_differences(batch, kind, rng):
    *args, dy = draw_single(rng, batch)
    mask = MASKS[kind](rng, batch, T, T)
    ours = self_attention_backward(dy, self_attention(*args, mask)[1])
    numeric = numerical_vjp(lambda *a: self_attention(*a, mask)[0], tuple(args), dy)
    for mine, theirs in zip(ours, numeric, strict=True):
        certify(mine, theirs)


@BATCHES
def test_self_attention_and_its_gradients_match_torch(batch, rng):
    *args, dy = draw_single(rng, batch)
    y, cache = self_attention(*args, causal(T, T))
    x, W_q, W_k, W_v = leaves = [torch.tensor(a, requires_grad=True) for a in args]
    theirs = scaled_dot_product_attention(
        x @ W_q.T, x @ W_k.T, x @ W_v.T, attn_mask=torch.tensor(causal(T, T))
    )
    close(y, theirs.detach())
    expected = torch.autograd.grad(theirs, leaves, torch.tensor(dy))
    for ours, grad in zip(self_attention_backward(dy, cache), expected, strict=True):
        close(ours, grad)


def test_two_positions_by_hand():
    """Scores are (0, log 3) in both rows: position 2 has weight 3/4, values are 0 and 4."""
    x, W = np.array([[0.0, 1.0], [1.0, 1.0]]), np.array([[0.0, np.log(3)]])
    y, cache = self_attention(x, W, np.array([[1.0, 0.0]]), np.array([[4.0, 0.0]]))
    assert_allclose(cache[-1][-1], [[0.25, 0.75], [0.25, 0.75]], rtol=1e-14)
    assert_allclose(y, [[3.0], [3.0]], rtol=1e-14)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("G", [2, 1])
def test_backward_matches_central_differences(bias, cross, G, rng):
    weights = draw_weights(rng, G, bias, source=2, H=2, D=2)
    x, dy, m = (rng.normal(size=(2, 3, width)) for width in (2, 5, 2))
    memory, mask = (m,) if cross else (), rng.random((2, 2, 3, 3)) < 0.5
    mask[:, :, 1] = False

    def forward(x, *rest):
        named = dict(zip(weights, rest, strict=False))
        return multi_head_attention(x, named, 2, mask, *rest[len(weights) :])[0]

    dx, dweights, dmemory = gradients(dy, x, weights, 2, mask, *memory)
    ours = (dx, *dweights.values(), *([dmemory] if cross else []))
    numeric = numerical_vjp(forward, (x, *weights.values(), *memory), dy)
    for mine, theirs in zip(ours, numeric, strict=True):
        certify(mine, theirs)


@BATCHES
@SEEING
@GROUPS
@pytest.mark.parametrize("bias", [True, False])
def test_value_and_gradients_match_the_grouped_kernel_of_torch(batch, kind, G, bias, rng):
    weights, mask = draw_weights(rng, G, bias), MASKS[kind](rng, batch, T, T)
    x, dy = rng.normal(size=(*batch, T, D)), rng.normal(size=(*batch, T, 5))
    y, x_leaf, leaves, _ = by_torch(x, weights, mask)
    y.backward(torch.tensor(dy))
    close(multi_head_attention(x, weights, H, mask)[0], y.detach())
    dx, dweights, dmemory = gradients(dy, x, weights, H, mask)
    assert dmemory is None
    close(dx, x_leaf.grad)
    assert list(dweights) == list(weights)
    for name, leaf in leaves.items():
        close(dweights[name], leaf.grad)


@BATCHES
@SEEING
@GROUPS
def test_cross_attention_and_its_gradients_match_torch(batch, kind, G, rng):
    weights, mask = draw_weights(rng, G, source=7), MASKS[kind](rng, batch, T, S)
    x, memory = rng.normal(size=(*batch, T, D)), rng.normal(size=(*batch, S, 7))
    dy = rng.normal(size=(*batch, T, 5))
    y, x_leaf, leaves, m_leaf = by_torch(x, weights, mask, memory)
    y.backward(torch.tensor(dy))
    close(multi_head_attention(x, weights, H, mask, memory)[0], y.detach())
    dx, dweights, dmemory = gradients(dy, x, weights, H, mask, memory)
    close(dx, x_leaf.grad)
    close(dmemory, m_leaf.grad)
    for name, leaf in leaves.items():
        close(dweights[name], leaf.grad)


def module_of_torch(weights, width, source):
    """The same weights in nn.MultiheadAttention, whose sources may have widths of their own."""
    module = torch.nn.MultiheadAttention(width, H, batch_first=True, kdim=source, vdim=source)
    maps = [torch.tensor(weights[f"W_{n}.weight"]) for n in "qkv"]
    if module.in_proj_weight is None:
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        state = dict(zip(names, maps, strict=True))
    else:
        state = {"in_proj_weight": torch.cat(maps)}
    biases = [weights[f"W_{n}.bias"] for n in "qkv"]
    state["in_proj_bias"] = torch.tensor(np.concatenate(biases))
    state |= {f"out_proj.{p}": torch.tensor(weights[f"W_o.{p}"]) for p in ("weight", "bias")}
    module.load_state_dict(state)
    return module


@pytest.mark.parametrize("source", [12, 7], ids=["one width", "a wider source"])
@SEEING
def test_it_is_the_multi_head_attention_module_of_torch(source, kind, rng):
    rows = {"W_q": (12, 12), "W_k": (12, source), "W_v": (12, source), "W_o": (12, 12)}
    weights = {f"{n}.weight": rng.normal(size=s) for n, s in rows.items()}
    weights |= {f"{n}.bias": rng.normal(size=12) for n in rows}
    x, m, dy = (rng.normal(size=s) for s in ((2, T, 12), (2, S, source), (2, T, 12)))
    mask = MASKS[kind](rng, (2,), T, S)
    y, cache = multi_head_attention(x, weights, H, mask, m)
    leaves = [torch.tensor(a, requires_grad=True) for a in (x, m)]
    hidden = None if mask is None else ~torch.tensor(mask).expand(2, H, T, S).flatten(0, 1)
    module = module_of_torch(weights, 12, source)
    theirs = module(leaves[0], leaves[1], leaves[1], attn_mask=hidden, need_weights=False)[0]
    theirs.backward(torch.tensor(dy))
    dx, dweights, dmemory = multi_head_attention_backward(dy, cache)
    close(y, theirs.detach())
    close(dx, leaves[0].grad)
    close(dmemory, leaves[1].grad)
    dW_o = module.out_proj.weight.grad
    close(dweights["W_o.weight"], dW_o)
    db = np.concatenate([dweights[f"W_{n}.bias"] for n in "qkv"])
    close(db, module.in_proj_bias.grad)


def test_one_head_with_the_identity_behind_it_is_self_attention(rng):
    x, W_q, W_k, W_v, dy = draw_single(rng, (2,))
    named = {"W_q.weight": W_q, "W_k.weight": W_k, "W_v.weight": W_v, "W_o.weight": np.eye(2)}
    y, cache = multi_head_attention(x, named, 1, causal(T, T))
    expected, single = self_attention(x, W_q, W_k, W_v, causal(T, T))
    close(y, expected)
    dx, dweights, _ = multi_head_attention_backward(dy, cache)
    ours = (dx, *(dweights[f"W_{n}.weight"] for n in "qkv"))
    for mine, theirs in zip(ours, self_attention_backward(dy, single), strict=True):
        close(mine, theirs)


def test_the_output_is_the_sum_of_what_each_head_adds(rng):
    """W_o [h₁; …; h_H] = Σ W_o[:, its columns] h: head by head through plain attention."""
    weights, x = draw_weights(rng, bias=False), rng.normal(size=(T, D))
    y = np.zeros((T, 5))
    for h in range(H):
        q, k = (x @ weights[f"W_{n}.weight"][3 * h : 3 * h + 3].T for n in "qk")
        v = x @ weights["W_v.weight"][2 * h : 2 * h + 2].T
        y += dot_product_attention(q, k, v)[0] @ weights["W_o.weight"][:, 2 * h : 2 * h + 2].T
    close(multi_head_attention(x, weights, H)[0], y)


@pytest.mark.parametrize("G", [2, 1])
def test_grouped_heads_are_heads_whose_keys_and_values_are_repeated(G, rng):
    grouped, dy = draw_weights(rng, G), rng.normal(size=(2, T, 5))
    x, full = rng.normal(size=(2, T, D)), dict(grouped)
    for name in ("W_k.weight", "W_v.weight", "W_k.bias", "W_v.bias"):
        by_head = grouped[name].reshape(G, -1, *grouped[name].shape[1:])
        full[name] = np.concatenate(np.repeat(by_head, H // G, axis=0))
    y, cache = multi_head_attention(x, full, H, causal(T, T))
    close(multi_head_attention(x, grouped, H, causal(T, T))[0], y)
    dx, dgrouped, _ = gradients(dy, x, grouped, H, causal(T, T))
    dx_full, dfull, _ = multi_head_attention_backward(dy, cache)
    summed = dfull["W_k.weight"].reshape(G, H // G, 3, D).sum(1).reshape(-1, D)
    close(dx, dx_full)
    close(dgrouped["W_k.weight"], summed)


def test_shuffled_positions_give_shuffled_outputs_without_a_mask_only(rng):
    weights, x, order = draw_weights(rng), rng.normal(size=(2, T, D)), [2, 0, 3, 1]
    y, shuffled = (multi_head_attention(z, weights, H)[0] for z in (x, x[:, order]))
    close(shuffled, y[:, order])
    y, shuffled = (
        multi_head_attention(z, weights, H, causal(T, T))[0] for z in (x, x[:, order])
    )
    assert np.abs(shuffled - y[:, order]).max() > 0.1


@GROUPS
def test_the_jacobian_under_a_causal_mask_is_block_triangular(G, rng):
    """Rows of dx that a gradient at position t reaches: those up to t, and all of them."""
    weights, x = draw_weights(rng, G), rng.normal(size=(T, D))
    _, cache = multi_head_attention(x, weights, H, causal(T, T))
    reached = np.zeros((T, T), dtype=bool)
    for t in range(T):
        dy = np.zeros((T, 5))
        dy[t] = rng.normal(size=5)
        reached[t] = multi_head_attention_backward(dy, cache)[0].any(-1)
    assert_array_equal(reached, causal(T, T))


def test_padding_changes_neither_values_nor_gradients(rng):
    weights, x, dy = draw_weights(rng), rng.normal(size=(T, D)), rng.normal(size=(T, 5))
    alone, cache = multi_head_attention(x, weights, H)
    padded = np.concatenate([x, rng.normal(size=(3, D))])[None]
    real = (np.arange(T + 3) < T)[None, None, None]
    y, padded_cache = multi_head_attention(padded, weights, H, real)
    close(y[0, :T], alone)
    dy_padded = np.concatenate([dy, np.zeros((3, 5))])[None]
    dx, dweights, _ = multi_head_attention_backward(dy_padded, padded_cache)
    expected = multi_head_attention_backward(dy, cache)
    close(dx[0, :T], expected[0])
    assert_array_equal(dx[0, T:], 0)
    for name, gradient in expected[1].items():
        close(dweights[name], gradient)


@pytest.mark.parametrize("poison", [1e6, np.nan, np.inf])
def test_what_stands_at_hidden_positions_of_the_memory_does_not_matter(poison, rng):
    weights, dy = draw_weights(rng, source=7), rng.normal(size=(2, T, 5))
    x, memory = rng.normal(size=(2, T, D)), rng.normal(size=(2, S, 7))
    mask, results = np.arange(S) < np.array([3, 4]).reshape(2, 1, 1, 1), []
    for value in (0.0, poison):
        m = np.where(mask[:, 0, 0, :, None], memory, value)
        y, cache = multi_head_attention(x, weights, H, mask, m)
        dx, dweights, dm = multi_head_attention_backward(dy, cache)
        results.append((y, dx, dm, *dweights.values()))
    for clean, poisoned in zip(*results, strict=True):
        assert_array_equal(poisoned, clean)


@pytest.mark.parametrize("poison", [1e6, np.nan, np.inf])
def test_a_position_cut_off_from_the_others_does_not_matter(poison, rng):
    *args, dy = draw_single(rng)
    mask = causal(T, T)
    mask[2], mask[:, 2] = False, False
    results = []
    for value in (0.0, poison):
        args[0][2] = value
        y, cache = self_attention(*args, mask)
        results.append((y, *self_attention_backward(dy, cache)))
    assert_array_equal(results[0][0][2], 0)
    assert_array_equal(results[0][1][2], 0)
    for clean, poisoned in zip(*results, strict=True):
        assert_array_equal(poisoned, clean)


@pytest.mark.parametrize("apart", [np.s_[1, :], np.s_[:, 1]], ids=["sees not", "not seen"])
def test_a_position_that_sees_nothing_is_seen_and_one_that_nobody_sees_sees(apart, rng):
    *args, dy = draw_single(rng)
    x, W_q, W_k, W_v = args
    mask = np.ones((T, T), dtype=bool)
    mask[apart] = False
    y, cache = self_attention(*args, mask)
    assert_array_equal(y[~mask.any(-1)], 0)
    close(y, dot_product_attention(x @ W_q.T, x @ W_k.T, x @ W_v.T, mask)[0])
    numeric = numerical_vjp(lambda x: self_attention(x, *args[1:], mask)[0], x, dy)
    certify(self_attention_backward(dy, cache)[0], numeric)


@GROUPS
def test_a_query_that_sees_nothing_gives_the_output_bias_and_gradient_zero(G, rng):
    weights, x = draw_weights(rng, G), rng.normal(size=(2, T, D))
    mask = causal(T, T)
    mask[2] = False
    mask[3, 2] = False
    y, cache = multi_head_attention(x, weights, H, mask)
    assert_array_equal(y[:, 2], np.broadcast_to(weights["W_o.bias"], (2, 5)))
    dx, dweights, _ = multi_head_attention_backward(rng.normal(size=y.shape), cache)
    assert_array_equal(dx[:, 2], 0)
    assert all(np.isfinite(g).all() for g in dweights.values())


@pytest.mark.parametrize("Tq", [1, 2, 3, 7])
def test_the_last_queries_are_aligned_with_the_last_keys(Tq, rng):
    weights, x = draw_weights(rng, 2), rng.normal(size=(2, 7, D))
    whole, _ = multi_head_attention(x, weights, H, causal(7, 7))
    last, _ = multi_head_attention(x[:, -Tq:], weights, H, causal(Tq, 7), x)
    close(last, whole[:, -Tq:])


def without(weights, name):
    return {n: w for n, w in weights.items() if n != name}


@pytest.mark.parametrize(
    ("name", "weight", "message"),
    [
        ("W_k.weight", np.ones((8, D)), "rows of W_k = 8 is not a multiple of width .* = 3"),
        ("W_k.weight", np.ones((9, D)), "n_heads = 4 is not a multiple of number .* = 3"),
        ("W_k.weight", np.ones((24, D)), "n_heads = 4 is not a multiple of number .* = 8"),
        ("W_v.weight", np.ones((9, D)), "rows of W_v = 9 is not a multiple of number"),
        ("W_q.weight", np.ones((12, 5)), r"W_q.weight'\] has shape \(12, 5\), .*\(out, 6\)"),
        ("W_o.weight", np.ones((5, 9)), r"W_o.weight'\] has shape \(5, 9\), .*\(out, 8\)"),
        ("W_o.weight", np.ones(8), r"W_o.weight'\] has shape \(8,\)"),
        ("W_q.bias", np.ones(11), r"W_q.bias'\] has shape \(11,\), expected \(12,\)"),
        ("W_z.weight", np.ones((2, 2)), r"unknown names \['W_z.weight'\]"),
        ("W_q.weight", np.full((12, D), np.nan), r"W_q.weight'\] holds 72 NaN"),
    ],
)
def test_weights_that_do_not_fit_are_refused(name, weight, message, rng):
    weights = draw_weights(rng, bias=False) | {name: weight}
    with pytest.raises(InputError, match=message):
        multi_head_attention(rng.normal(size=(T, D)), weights, H)


@pytest.mark.parametrize(
    ("n_heads", "message"),
    [(5, "rows of W_q = 12 is not a multiple of n_heads = 5"), (0, "n_heads=0 must be")],
)
def test_heads_that_do_not_divide_are_refused(n_heads, message, rng):
    with pytest.raises(InputError, match=message):
        multi_head_attention(np.ones((T, D)), draw_weights(rng), n_heads)


def test_a_missing_weight_is_named(rng):
    weights = without(draw_weights(rng), "W_v.weight")
    with pytest.raises(InputError, match=r"weights lacks \['W_v.weight'\]"):
        multi_head_attention(np.ones((T, D)), weights, H)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (np.ones((T, T)), InputTypeError, "mask has dtype float64; give booleans"),
        (np.ones((T, T + 1), bool), InputError, r"mask has shape \(4, 5\).*\(2, 4, 4, 4\)"),
        (np.ones((2, T, T), bool), InputError, r"mask of shape \(2, 4, 4\) has 3 axes: give 2"),
        (
            np.ones(T, bool),
            InputError,
            r"mask has shape \(4,\), expected at least the two axes",
        ),
        (np.ones((1, 1, 1, 1, T), bool), InputError, "does not broadcast"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(mask, error, message, rng):
    with pytest.raises(error, match=message):
        multi_head_attention(np.ones((2, T, D)), draw_weights(rng), H, mask)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("x", "memory", "message"),
    [
        (np.ones(D), None, r"x has shape \(6,\), expected \(\*batch, positions, features\)"),
        (np.ones((0, D)), None, "no axis of length 0"),
        (np.ones((2, T, D)), np.ones((3, S, D)), "different batch axes"),
        (np.ones((2, T, D)), np.ones((2, S, D + 1)), r"W_k.weight'\].*\(out, 7\)"),
        (np.full((T, D), np.nan), None, "x holds 24 NaN"),
        (np.ones((T, D)), np.full((S, D), np.inf), "memory holds 30 NaN or infinite"),
    ],
)
def test_input_that_does_not_fit_is_refused(x, memory, message, rng):
    with pytest.raises(InputError, match=message):
        multi_head_attention(x, draw_weights(rng), H, None, memory)


@pytest.mark.parametrize(
    ("dy", "message"),
    [(np.ones((T, 4)), r"dy has shape \(4, 4\), but y has \(4, 5\)"), (np.nan, "NaN")],
)
def test_a_gradient_that_does_not_fit_is_refused(dy, message, rng):
    _, cache = multi_head_attention(np.ones((T, D)), draw_weights(rng), H)
    with pytest.raises(InputError, match=message):
        multi_head_attention_backward(dy, cache)


def test_a_single_head_refuses_matrices_and_gradients_that_do_not_fit(rng):
    x, W_q, W_k, W_v, dy = draw_single(rng)
    with pytest.raises(InputError, match="W_q has 3 rows and W_k has 2"):
        self_attention(x, W_q, W_k[:2], W_v)
    with pytest.raises(InputError, match=r"W_v.weight'\] has shape \(2, 5\)"):
        self_attention(x, W_q, W_k, W_v[:, 1:])
    with pytest.raises(InputError, match=r"dy has shape \(4,\)"):
        self_attention_backward(dy[:, 0], self_attention(x, W_q, W_k, W_v)[1])


def test_scores_that_overflow_are_refused():
    big = np.full((2, 3), 1e200)
    with pytest.raises(InputError, match=r"scores holds 4 NaN or infinite numbers"):
        dot_product_attention(big, big, big)

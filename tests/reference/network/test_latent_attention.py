import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.reference import (
    latent_attention,
    latent_attention_backward,
    multi_head_attention,
    numerical_vjp,
)

D, H, K, R, C, V = 6, 2, 3, 2, 4, 5
SHAPES = {
    "W_q": (H * K, D), "W_qr": (H * R, D), "W_dkv": (C, D), "W_kr": (R, D),
    "W_uk": (H * K, C), "W_uv": (H * V, C), "W_o": (7, H * V),
}  # fmt: skip


def drawn(rng, **changed):
    return {f"{n}.weight": rng.normal(size=changed.get(n, s)) for n, s in SHAPES.items()}


@pytest.mark.parametrize("batch", [(), (2,), (2, 2)])
def test_backward_matches_central_differences(rng, batch):
    x, weights, mask = rng.normal(size=(*batch, 4, D)), drawn(rng), np.tri(4, dtype=bool)
    y, cache = latent_attention(x, weights, H, mask)
    dy = rng.normal(size=y.shape)

    def forward(x, *W):
        return latent_attention(x, dict(zip(weights, W, strict=True)), H, mask)[0]

    dx, grads = latent_attention_backward(dy, cache)
    numeric = numerical_vjp(forward, (x, *weights.values()), dy)
    for ours, right in zip((dx, *grads.values()), numeric, strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-6, atol=1e-7)


def test_without_a_rotary_part_in_the_scores_it_is_multi_head_attention_of_low_rank(rng):
    """W_kr = 0 leaves scores of Q K only, divided by √(d_k + d_r) instead of √d_k."""
    weights = drawn(rng, W_uv=(H * K, C), W_o=(7, H * K))
    weights["W_kr.weight"] *= 0
    x = rng.normal(size=(5, D))
    low = {f"W_{z}.weight": weights[f"W_u{z}.weight"] @ weights["W_dkv.weight"] for z in "kv"}
    scale = np.sqrt(K / (K + R))
    plain = low | {
        "W_q.weight": scale * weights["W_q.weight"],
        "W_o.weight": weights["W_o.weight"],
    }
    expected = multi_head_attention(x, plain, H)[0]
    np.testing.assert_allclose(latent_attention(x, weights, H)[0], expected, rtol=1e-11)


@pytest.mark.parametrize(
    ("options", "turn"), [({}, 0.01), ({"base": 10.0}, 10**-0.5)], ids=["default", "ten"]
)
def test_one_head_that_looks_at_distances_only_by_hand(options, turn):
    """Queries and keys 10 in the second of two turned pairs: scores 100 cos(t - s)ω / √(1 + 4).

    ω is base^(-2/4), 1/100 for the usual base; C and V are the first number of x.
    """
    c, T = np.array([3.0, -1.0, 4.0, 1.0, -5.0]), 5
    maps = {"W_q": np.zeros((1, 2)), "W_uk": np.zeros((1, 1)), "W_dkv": np.eye(1, 2)}
    maps |= {name: np.zeros((4, 2)) for name in ("W_qr", "W_kr")}
    maps["W_qr"][1, 1] = maps["W_kr"][1, 1] = 10.0
    maps |= {"W_uv": np.ones((1, 1)), "W_o": np.ones((1, 1))}
    weights, seen = {f"{n}.weight": W for n, W in maps.items()}, np.tri(T, dtype=bool)
    y, _ = latent_attention(np.stack((c, np.ones(T)), -1), weights, 1, seen, **options)
    distance = np.arange(T)[:, None] - np.arange(T)
    w = np.exp(100 * np.cos(turn * distance) / 5**0.5) * seen
    np.testing.assert_allclose(y[:, 0], w @ c / w.sum(1), rtol=1e-10)


def test_weights_that_do_not_fit_are_refused(rng):
    x = np.ones((3, D))
    for shapes in (
        {"W_uk": (H * K + 2, C)},
        {"W_qr": (R, D)},
        {"W_q": (5, D)},
        {"W_q": (5, D), "W_uk": (5, C)},
        {"W_uv": (5, C), "W_o": (7, 5)},
    ):
        with pytest.raises(InputError, match="do not fit 2 heads"):
            latent_attention(x, drawn(rng, **shapes), H)
    with pytest.raises(InputError, match="n_heads=0 must be"):
        latent_attention(x, drawn(rng), 0)
    with pytest.raises(InputError, match="W_dkv"):
        latent_attention(x, drawn(rng, W_dkv=(C, D + 1)), H)

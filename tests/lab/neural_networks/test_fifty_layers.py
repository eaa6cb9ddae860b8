import numpy as np
from numpy.testing import assert_allclose

from lab.neural_networks.fifty_layers import SETTINGS, gradient_sizes, typical_sizes


def test_there_is_a_size_for_every_layer_the_last_one_first():
    sizes = gradient_sizes("sigmoid", 1.0, seed=0, depth=7)
    assert sizes.shape == (7,)
    assert sizes[0] > 1e3 * sizes[-1]


def test_orthogonal_on_average_a_linear_network_keeps_the_size():
    """Variance 1/n and no activation: the mean square is kept in expectation."""
    squares = [
        gradient_sizes("identity", 1.0, seed, width=200, depth=3) ** 2 for seed in range(9)
    ]
    assert_allclose(np.mean(squares, axis=0), 1, rtol=0.15)


def test_relu_halves_the_mean_square_unless_the_variance_is_doubled():
    squares = [gradient_sizes("relu", 1.0, s, width=200, depth=9) ** 2 for s in range(9)]
    ratio = np.mean(squares, axis=0)[-1] / np.mean(squares, axis=0)[0]
    assert_allclose(ratio, 2.0**-8, rtol=0.4)


def test_typical_sizes_are_geometric_means():
    found = typical_sizes(seeds=(3,))
    for name, pair in SETTINGS.items():
        assert_allclose(found[name], gradient_sizes(*pair, seed=3), rtol=1e-12)

import numpy as np

from lab.linear_algebra import figures


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_both_grids_show_the_same_vector():
    figure = figures.two_bases(np.array([3.0, 4]), np.array([[1.0, 1], [1, -1]]))
    tips = [ax.texts[-2].xy for ax in figure.axes]
    np.testing.assert_allclose(tips, [[3, 4], [3, 4]])
    assert [ax.get_title() for ax in figure.axes] == [
        "3 $e_1$ +4 $e_2$",
        "3.5 $b_1$ −0.5 $b_2$",
    ]


def test_every_point_of_a_ball_has_norm_one():
    lines = figures.norm_balls((1, 2, np.inf)).axes[0].lines[:3]
    for line, p in zip(lines, (1, 2, np.inf), strict=True):
        np.testing.assert_allclose(np.linalg.norm(line.get_xydata(), p, axis=1), 1, rtol=1e-12)


def test_only_orders_below_one_are_called_no_norm():
    labels = [
        t.get_text() for t in figures.norm_balls((0.5, 1)).axes[0].get_legend().get_texts()
    ]
    assert labels == ["$p=0.5$ (no norm)", "$p=1$"]


def test_images_of_the_square_are_titled_by_their_determinant():
    matrices = {"A": np.array([[3.0, 1], [1, 2]]), "R": np.diag([1.0, -1])}
    figure = figures.square_images(matrices)
    assert [ax.get_title() for ax in figure.axes] == ["A\ndet = 5", "R\ndet = −1"]
    image = figure.axes[0].patches[1].get_xy()
    np.testing.assert_allclose(image[:4], [[0, 0], [3, 1], [4, 3], [1, 2]])


def test_eigenvalues_and_singular_values_are_written_at_their_arrows():
    figure = figures.eigen_and_singular(np.array([[4.0, 1], [2, 3]]))
    assert {r"$\lambda=5$", r"$\lambda=2$"} <= set(texts(figure.axes[0]))
    assert {r"$\sigma=5.12$", r"$\sigma=1.95$"} <= set(texts(figure.axes[1]))


def test_a_collapse_puts_all_outputs_on_one_line():
    B = np.array([[1.0, 2], [2, 4]])
    outputs = figures.collapse(B).axes[1].collections[0].get_offsets()
    np.testing.assert_allclose(outputs[:, 1], 2 * outputs[:, 0], atol=1e-12)


def test_axes_of_a_cloud_start_at_its_mean():
    X = np.array([[1.0, 2], [3, 2], [2, 2.5], [2, 1.5]])
    arrows = figures.cloud_axes(X, np.array([1.0, 0.25]), np.eye(2)).axes[0].texts[::2]
    np.testing.assert_allclose([a.xyann for a in arrows], [[2, 2], [2, 2]])
    np.testing.assert_allclose([a.xy for a in arrows], [[4, 2], [2, 3]])


def test_spectra_are_drawn_as_given():
    ax = figures.spectra(
        {"one": np.array([3.0, 1]), "two": np.array([2.0, 2])}, "variance"
    ).axes[0]
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 3], [2, 1]])
    assert ax.get_ylabel() == "variance"
    assert figures.spectra({"one": np.ones(2)}, "", log=True).axes[0].get_yscale() == "log"


def test_words_are_written_at_their_coordinates():
    scores = np.array([[1.0, 2, 9], [3, 4, 9], [5, 6, 9]])
    ax = figures.word_map(scores, ["the", "cat", "sat"], ["cat"]).axes[0]
    assert [(t.get_text(), t.xy) for t in ax.texts] == [("cat", (3.0, 4.0))]


def test_curves_over_rank_and_dimension_are_drawn_as_given():
    neighbors = figures.neighbors_kept([1, 2], {"top": [0.1, 0.9]}).axes[0]
    gain = figures.gain_by_rank([1, 2], {"update": [[-0.5, 0.8], [-0.5, 1.0]]}).axes[0]
    np.testing.assert_array_equal(neighbors.lines[0].get_ydata(), [0.1, 0.9])
    np.testing.assert_allclose(gain.lines[0].get_ydata(), [-0.5, 0.9])
    np.testing.assert_allclose(gain.dataLim.intervaly, [-0.5, 1.0])
    assert [t.get_text() for t in gain.get_xticklabels()] == ["1", "2"]

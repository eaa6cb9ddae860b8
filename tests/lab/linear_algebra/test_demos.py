import re

import numpy as np
import pytest
from plot.node import needs_node, run_script

from lab.linear_algebra import demos
from lab.linear_algebra.demos import SHAPES
from mathlm.errors import InputError


def shown(html, name):
    return re.search(rf'data-name="{name}">([^<]*)<', html)[1]


def html_of(entries):
    return demos.matrix_demo(np.reshape(entries, (2, 2)))._repr_html_()


def test_still_view_shows_area_and_eigenvalues():
    """det = 4·3 - 1·2 is out of the range of the sliders; 2·2 - 1·1 = 3 = 3·1 is not."""
    html = demos.matrix_demo()._repr_html_()
    assert (shown(html, "det"), shown(html, "eigen")) == ("3.00", "3.00 and 1.00")


def test_a_rotation_shows_no_eigenvectors():
    html = html_of(SHAPES["a rotation: none"])
    assert shown(html, "eigen") == "complex"
    assert "stroke-dasharray" not in html.split("<script>")[0]


def test_a_flip_is_drawn_in_the_other_color():
    """The legend names fourth and third; second is the color of what is flipped."""
    assert "var(--second)" in html_of(SHAPES["a flip: area −1"]).split('<div class="demo-l')[1]
    turned = html_of(SHAPES["a rotation: none"]).split('<div class="demo-l')[1]
    assert "var(--second)" not in turned.split("<script>")[0]


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_shape_to_start_from_is_within_the_sliders(shape):
    assert all(abs(x) <= 3 and round(10 * x) == pytest.approx(10 * x) for x in shape)


@pytest.mark.parametrize("A", [np.full((2, 2), 4.0), np.ones((3, 3)), np.full((2, 2), np.nan)])
def test_matrices_that_the_sliders_cannot_show_are_refused(A):
    with pytest.raises(InputError, match=r"must be 2 × 2 with entries in \[-3, 3\]"):
        demos.matrix_demo(A)


def test_still_view_shows_the_variance_along_the_line(rng):
    X = rng.normal(size=(50, 2)) * [3.0, 1.0]
    html = demos.pca_demo(X, angle=0)._repr_html_()
    share = 100 * X[:, 0].var() / X.var(axis=0).sum()
    assert float(shown(html, "share")) == pytest.approx(share, abs=0.3)
    assert html.count('r="2.5"') == 50


@pytest.mark.parametrize("X", [np.ones((5, 3)), np.ones((1, 2)), np.ones((301, 2))])
def test_clouds_of_another_shape_are_refused(X):
    with pytest.raises(InputError, match=r"expected \(N, 2\) with 2 ≤ N ≤ 300"):
        demos.pca_demo(X)


def test_a_cloud_without_spread_is_refused():
    with pytest.raises(InputError, match="all points of X are equal"):
        demos.pca_demo(np.ones((5, 2)))


STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, slots = {};
const text = (name, value) => { out[name] = value; };
const one = (name) => slots[name] = slots[name] || { value: String(values[name]),
  get valueAsNumber() { return Number(this.value); }, addEventListener() {} };
const changed = () => {};
"""


def run(demo, then="", **values):
    return run_script(STUB, demo, values, then)


def marks(out, name, kind):
    return [np.array(m["at"], float) for m in out[name]["marks"] if m["kind"] == kind]


@needs_node
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_picture_shows_columns_and_directions_that_the_matrix_keeps(shape):
    A = np.reshape(shape, (2, 2))
    out = run(demos.matrix_demo(A), **dict(zip("abcd", shape, strict=True)))
    tips = [ends[1] for ends in marks(out, "plane", "arrow")]
    np.testing.assert_allclose(tips, A.T)
    dashed = [m["at"][1] for m in out["plane"]["marks"] if m.get("dash")]
    for v in np.array(dashed, float).reshape(-1, 2):
        Av = A @ v
        assert abs(Av[0] * v[1] - Av[1] * v[0]) < 1e-6
    assert len(dashed) == (0 if np.iscomplex(np.linalg.eigvals(A)).any() else 2)


@needs_node
def test_a_column_that_is_dragged_changes_the_matrix_within_its_bounds():
    """Columns (2, 1) and (4, -1), of which 4 becomes 3: det = 2·(-1) - 3·1."""
    start = dict(zip("abcd", (2, 1, 1, 2), strict=True))
    out = run(demos.matrix_demo(), "handles[1].move([4, -1]);", **start)
    assert out["det"] == "-5.00"


@needs_node
def test_the_line_can_be_turned_by_its_end(rng):
    demo = demos.pca_demo(rng.normal(size=(50, 2)) * [3.0, 1.0], angle=30)
    out = run(demo, "handles[0].move([-1, 1]);", angle=30)
    u = np.array([-1, 1]) / np.sqrt(2)
    points, feet = marks(out, "cloud", "dots")
    np.testing.assert_allclose(feet, np.outer(points @ u, u), atol=1e-9)
    assert out["angle-value"] == "135"


@needs_node
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_script_finds_the_determinant_and_eigenvalues_of_numpy(shape):
    A = np.reshape(shape, (2, 2))
    out = run(demos.matrix_demo(A), **dict(zip("abcd", shape, strict=True)))
    assert float(out["det"]) == pytest.approx(np.linalg.det(A), abs=0.006)
    found = [float(x) for x in re.findall(r"-?\d+\.\d+", out["eigen"])]
    values = np.sort_complex(np.linalg.eigvals(A))[::-1]
    expected = [0.8, 0.6] if np.imag(values).any() else values.real
    np.testing.assert_allclose(found, expected, atol=0.006)


@needs_node
def test_script_finds_the_variance_of_the_still_view(rng):
    demo = demos.pca_demo(rng.normal(size=(50, 2)) * [3.0, 1.0], angle=30)
    out = run(demo, angle=30)
    html = demo._repr_html_()
    assert (out["variance"], out["share"]) == (shown(html, "variance"), shown(html, "share"))

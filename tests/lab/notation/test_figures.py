from lab.notation import figures


def test_matrices_are_drawn_to_scale():
    """Three rectangles a panel, of these heights and widths; first tokens on two of them."""
    tokens, inputs, outputs = 5, 4, 3
    rows, columns = figures.layer_shapes(tokens, inputs, outputs).axes
    sizes = [[(p.get_height(), p.get_width()) for p in ax.patches] for ax in (rows, columns)]
    assert sizes[0] == [(5, 4), (1, 4), (4, 3), (5, 3), (1, 3)]
    assert sizes[1] == [(3, 4), (4, 5), (4, 1), (3, 5), (3, 1)]
    assert [t.get_text() for t in rows.texts][:3] == ["X", "T × I", "·"]

from lab.low_precision import figures


def test_rounding_errors_are_drawn_as_powers_of_two():
    fig = figures.rounding_errors([0, 1], {"bfloat16": [2**-8, 2**-9]})
    assert fig.axes[0].get_lines()[0].get_ydata().tolist() == [-8, -9]


def test_the_histogram_of_gradients_counts_shares_and_shifts_them():
    """Four numbers, three between 2^-30 and 2^-29: a share of 3/4 there, and 13 places on."""
    sizes = [1.5 * 2.0**-30] * 3 + [1.0]
    first, moved = figures.gradient_histogram({"g": sizes}, shift=13).axes[0].patches[:2]
    shares, edges, _ = first.get_data()
    assert shares[list(edges).index(-30)] == 0.75
    shares, edges, _ = moved.get_data()
    assert shares[list(edges).index(-17)] == 0.75


def test_running_sums_and_runs_draw_one_line_each():
    ax = figures.running_sums([1, 2], {"float32": [1, 2], "bfloat16": [1, 1]}).axes[0]
    assert [line.get_ydata().tolist() for line in ax.get_lines()] == [[1, 2], [1, 1]]
    ax = figures.sixteen_bit_runs([0, 20], {"a": [5.5, 3.0]}).axes[0]
    assert ax.get_lines()[0].get_ydata().tolist() == [5.5, 3.0]


def test_block_errors_draw_every_draw():
    ax = figures.block_errors({"one scale": [0.1, 0.2], "blocks": [0.01]}).axes[0]
    assert [list(line.get_xdata()) for line in ax.get_lines()] == [[0.1, 0.2], [0.01]]

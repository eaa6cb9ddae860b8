import numpy as np

from lab.transformer_backward import figures


def test_every_block_of_the_decoder_sends_a_way_to_the_memory():
    """6 boxes on the right (5 ways), 3 on the left (2), 3 ways to the sum and 1 from it."""
    ax = figures.gradient_routes(encoder_blocks=2, decoder_blocks=3).axes[0]
    ways = [t for t in ax.texts if getattr(t, "arrow_patch", None) is not None]
    assert len(ways) == 5 + 2 + 3 + 1
    assert {"encoder 1", "decoder 2", "loss", "Σ"} <= {t.get_text() for t in ax.texts}


def test_one_block_a_side_can_be_drawn():
    assert figures.gradient_routes(1, 1).axes[0].patches


def test_tied_contributions_draws_a_bar_for_each_use_of_each_row():
    ax = figures.tied_contributions({"source": [0.0, 1.0], "head": [2.0, 3.0]}).axes[0]
    assert [bar.get_height() for bar in ax.patches] == [0.0, 1.0, 2.0, 3.0]


def test_error_by_step_has_one_line_a_parameter_and_one_name_a_group():
    errors = {"encoder.a": [1e-3, 1e-5], "encoder.b": [1e-4, 1e-6], "head": [1e-2, 1e-4]}
    ax = figures.error_by_step([1e-2, 1e-3], errors, 1e-6).axes[0]
    assert len(ax.get_lines()) == 4
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["encoder", "head"]


def test_error_by_parameter_names_each_block_in_its_middle():
    """The table has one array: too narrow for a name."""
    names = ["table.weight", "encoder.0.a", "encoder.0.b", "decoder.1.c", "decoder.1.d"]
    errors = {"torch": np.full(5, 1e-15), "differences": np.full(5, 1e-9)}
    ax = figures.error_by_parameter(names, errors, {"torch": 1e-10, "differences": 1e-6}).axes[
        0
    ]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["encoder.0", "decoder.1"]
    assert ax.get_xticks().tolist() == [1.5, 3.5]
    assert ax.get_yscale() == "log"


def test_faults_caught_marks_each_failing_check():
    ax = figures.faults_caught(["a", "b"], ["x", "y"], [[True, False], [True, True]]).axes[0]
    (squares,) = [line for line in ax.get_lines() if line.get_marker() == "s"]
    assert squares.get_xydata().tolist() == [[0, 0], [0, 1], [1, 1]]


def test_gradient_sizes_counts_blocks_from_1_and_names_each_kind_once():
    fig = figures.gradient_sizes(
        {"encoder": {"W_q": [1.0, 2.0]}, "decoder": {"W_q": [3.0, 4.0]}}
    )
    assert [ax.get_lines()[0].get_xdata().tolist() for ax in fig.axes] == [[1, 2], [1, 2]]
    assert [t.get_text() for t in fig.legends[0].get_texts()] == ["W_q"]


def test_training_by_hand_draws_loss_floor_and_rate():
    top, bottom = figures.training_by_hand([3.0, 1.0], [0.1, 0.2], 0.5).axes
    assert [line.get_ydata()[0] for line in top.get_lines()] == [3.0, 0.5]
    assert bottom.get_lines()[0].get_ydata().tolist() == [0.1, 0.2]


def test_two_machines_draws_both_losses_and_their_distance():
    losses = {"hand": [2.0, 1.0], "torch": [2.0, 1.0]}
    top, bottom = figures.two_machines([1, 2], losses, [1e-15, 1e-14]).axes
    assert len(top.get_lines()) == 2
    assert bottom.get_yscale() == "log"


def test_losses_with_faults_draws_the_right_one_thickest():
    ax = figures.losses_with_faults({"right": [2.0, 1.0], "wrong": [2.0, 1.5]}, log=True).axes[
        0
    ]
    right, wrong = ax.get_lines()
    assert right.get_linewidth() > wrong.get_linewidth()
    assert right.get_xdata().tolist() == [5, 15]
    assert ax.get_yscale() == "log"

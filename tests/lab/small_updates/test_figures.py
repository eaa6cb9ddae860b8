import numpy as np

from lab.small_updates import figures


def test_sizes_are_relative_to_the_first_rank():
    ax = figures.update_sizes([4, 8], {"Adam": [2.0, 6.0]}).axes[0]
    assert list(ax.get_lines()[0].get_ydata()) == [1, 3]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["4", "8"]


def test_the_line_of_energies_is_the_mean_over_matrices():
    ax = figures.energy_by_rank([1, 2], {"a": [[0.2, 0.6], [0.4, 1.0]]}, [0.1, 0.2]).axes[0]
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), [0.3, 0.8])
    np.testing.assert_allclose(ax.get_lines()[1].get_ydata(), [0.1, 0.2])


def test_the_least_loss_of_each_rank_is_marked():
    ax = figures.rank_sweep({"r = 1": ([0.1, 1.0, 10.0], [3.0, 2.0, 4.0])}, ("all", 1.5)).axes[
        0
    ]
    assert (ax.get_lines()[1].get_xdata()[0], ax.get_lines()[1].get_ydata()[0]) == (1.0, 2.0)
    assert set(ax.get_lines()[2].get_ydata()) == {1.5}
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0.1", "1", "10"]


def test_best_step_sizes_draw_one_line_for_each_scale():
    ax = figures.best_step_sizes({"a": [1, 4], "b": [4]}, {"a": [0.1, 0.2], "b": [0.3]}).axes[0]
    assert [list(line.get_ydata()) for line in ax.get_lines()] == [[0.1, 0.2], [0.3]]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0.1", "0.2", "0.3"]


def test_losses_stand_over_counts_beside_levels():
    ax = figures.losses_by_count({"LoRA": ([10, 100], [3.0, 2.0])}, {"before": 4.0}).axes[0]
    assert list(ax.get_lines()[0].get_xdata()) == [10, 100]
    assert set(ax.get_lines()[1].get_ydata()) == {4.0}


def test_sizes_of_merged_updates_are_named_as_fractions():
    ax = figures.lost_in_merging([1, 1 / 4], {"bfloat16": [1.0, 0.5]}).axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "1/4"]
    assert list(ax.get_lines()[0].get_ydata()) == [1.0, 0.5]


def test_an_arm_ends_where_a_seed_has_not_gained_so_much():
    arms = {"full": [(0.1, 0.01), (0.3, 0.02)], "LoRA": [(0.2, 0.01), None]}
    ax = figures.forgotten_at_gain([0.4, 0.6], arms).axes[0]
    drawn = [c.lines[0] for c in ax.containers]
    assert [line.get_xdata().tolist() for line in drawn] == [[0.4, 0.6], [0.4]]
    assert [line.get_ydata().tolist() for line in drawn] == [[0.1, 0.3], [0.2]]


def test_shares_among_tokens_sum_to_one():
    left, right = figures.prefix_mixture([0, 1], [[0.4, 0.4], [0.3, 0.1]], [0.2, 0.6]).axes
    assert list(left.get_lines()[0].get_ydata()) == [0.4, 0.3]
    shares = [line.get_ydata() for line in right.get_lines()]
    np.testing.assert_allclose(np.sum(shares, axis=0), [1, 1])

from lab.reward_hacking import figures


def test_the_best_true_reward_is_marked():
    ax = figures.overoptimization(
        {"one": ([0, 1, 2], [0, 1, 2], [0, 1, 0.5])}, ([0], [0])
    ).axes[0]
    assert (ax.get_lines()[2].get_xdata()[0], ax.get_lines()[2].get_ydata()[0]) == (1, 1)


def test_runs_on_text_have_two_panels():
    records = [{"iteration": i, "reward": 2 * i, "kl": i} for i in range(3)]
    axes = figures.steered_runs({"ours": records}).axes
    assert [list(ax.get_lines()[0].get_ydata()) for ax in axes] == [[0, 2, 4], [0, 1, 2]]

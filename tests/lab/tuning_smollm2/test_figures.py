from lab.tuning_smollm2 import figures


def test_the_curve_shows_each_step_and_where_it_began():
    steps = [
        {"loss": 0.7, "chosen": 0.0, "rejected": 0.0},
        {"loss": 0.3, "chosen": 2.0, "rejected": -5.0},
    ]
    left, right = figures.training_curve(steps).axes
    assert list(left.get_lines()[0].get_ydata()) == [0.7, 0.3]
    assert set(left.get_lines()[1].get_ydata()) == {0.6931}
    assert [list(line.get_ydata()) for line in right.get_lines()[:2]] == [[0, 2], [0, -5]]
    assert [text.get_text() for text in right.get_legend().get_texts()] == [
        "chosen",
        "rejected",
    ]

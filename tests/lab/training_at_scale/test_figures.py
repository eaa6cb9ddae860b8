from lab.training_at_scale import figures
from lab.training_at_scale.pipeline_schedule import pipeline_tasks


def test_segment_memory_and_sending_shares_draw_one_line_each():
    ax = figures.segment_memory([1, 2], {"7B": [1.0, 0.5]}).axes[0]
    assert ax.get_lines()[0].get_ydata().tolist() == [1.0, 0.5]
    ax = figures.sending_shares([2, 4], {"wide": [0.1, 0.3]}).axes[0]
    assert ax.get_lines()[0].get_ydata().tolist() == [0.1, 0.3]


def test_each_pass_of_a_pipeline_is_one_box_as_long_as_it_takes():
    ax = figures.pipeline_rows({"a": pipeline_tasks(2, 2)}).axes[0]
    boxes = [(p.get_x(), p.get_y() + p.get_height() / 2, p.get_width()) for p in ax.patches]
    assert len(boxes) == 8
    assert (5.0, 0.0, 2.0) in boxes


def test_counted_bytes_stand_beside_the_formula():
    ax = figures.sent_bytes({"a": 2000.0, "b": 500.0}, {"b": 500.0, "a": 1000.0}).axes[0]
    assert [bar.get_width() for bar in ax.patches] == [2.0, 0.5]
    assert list(ax.get_lines()[0].get_xdata()) == [1.0, 0.5]

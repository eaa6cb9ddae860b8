"""What the figures of the page on serving show."""

import numpy as np

from lab.serving import figures
from lab.serving.scheduler import Request, Server, StepCost


def test_each_request_has_a_bar_from_its_admission_to_its_last_token():
    requests = [Request(0.0, 1, 1), Request(0.0, 1, 3), Request(0.0, 1, 1)]
    trace = Server(StepCost(1.0, 0.1), 2).run(requests)
    (ax,) = figures.batch_timelines({"continuous": trace}, 2).axes
    ends = sorted(bar.get_x() + bar.get_width() for bar in ax.patches)
    assert np.allclose(ends, sorted(job.times[-1] for job in trace.jobs))
    assert {round(bar.get_y() + 0.4) for bar in ax.patches} == {0, 1}


def test_a_curve_is_the_mean_and_its_band_the_range():
    (ax,) = figures.latency_by_load([1, 2], {"a": [[1.0, 3.0], [2.0, 6.0]]}, "wait").axes
    assert ax.lines[0].get_ydata().tolist() == [2.0, 4.0]
    assert ax.collections[0].get_datalim(ax.transData).y1 == 6.0


def test_every_gap_is_as_long_as_the_shortest_or_longer():
    (ax,) = figures.gap_curves({"whole": [0.2, 0.1, 0.4, 0.3]}).axes
    assert ax.lines[0].get_xdata().tolist() == [100, 200, 300, 400]
    assert ax.lines[0].get_ydata().tolist() == [1.0, 0.75, 0.5, 0.25]

import math
import re

import pytest
from plot.node import PAGE, needs_node, run_script

from lab.transformer_block import demos
from mathlm.errors import InputError


def shown(demo, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', demo._repr_html_())


def test_a_gate_at_right_angles_answers_to_this_and_that():
    """SiLU(1) · 1 = 0.73, SiLU(1) · (−1), SiLU(−1) · 1 = −0.27."""
    assert shown(demos.gate_demo(), "corner") == ["0.73", "−0.73", "−0.27", "0.27"]


def test_a_relu_gate_along_its_own_value_is_half_a_square():
    assert shown(demos.gate_demo(0, 0, 1), "corner") == ["1.00", "1.00", "0.00", "0.00"]


@needs_node
@pytest.mark.parametrize("setting", [(0, 90, 0), (35, 120, 1), (180, 10, 2), (45, 45, 0)])
def test_script_of_the_gate_draws_the_still_view(setting):
    demo = demos.gate_demo(*setting)
    out = run_script(
        PAGE,
        demos.gate_demo(),
        dict(zip("ab", setting[:2], strict=False)) | {"which": setting[2]},
    )
    assert out["corner"] == shown(demo, "corner")
    cells, value, gate = out["plane"]["marks"]
    for (x0, y0, x1, y1), color, fade in zip(
        cells["at"], cells["color"], cells["fade"], strict=True
    ):
        z = demos._unit((x0 + x1) / 2, (y0 + y1) / 2, *setting)
        assert float(fade) == pytest.approx(min(1, abs(z) / 4), abs=6e-4)
        assert abs(z) < 1e-9 or color == ("second" if z < 0 else "accent")
    for arrow, degrees in ((gate, setting[0]), (value, setting[1])):
        x, y = arrow["at"][1]
        assert math.degrees(math.atan2(y, x)) == pytest.approx(degrees)


@pytest.mark.parametrize("options", [{"gate": -5}, {"listen": 185}, {"which": 3}])
def test_gate_demo_refuses_what_it_cannot_show(options):
    with pytest.raises(InputError, match="must lie between"):
        demos.gate_demo(**options)

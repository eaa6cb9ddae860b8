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
    still = re.findall(r'<rect class="(\w+)"[^>]*opacity="([\d.]+)"', demo._repr_html_())
    assert [float(o) for o in out["cell.opacity"]] == pytest.approx(
        [float(o) for _, o in still], abs=2e-3
    )
    strong = [i for i, (_, o) in enumerate(still) if float(o) > 0.01]
    assert [out["cell.class"][i] for i in strong] == [still[i][0] for i in strong]


@pytest.mark.parametrize("options", [{"gate": -5}, {"listen": 185}, {"which": 3}])
def test_gate_demo_refuses_what_it_cannot_show(options):
    with pytest.raises(InputError, match="must lie between"):
        demos.gate_demo(**options)

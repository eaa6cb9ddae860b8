import re

import numpy as np
import pytest
from plot.node import PAGE, needs_node, run_script

from lab.depth import demos
from mathlm.errors import InputError

LENGTH = 5


def shown(demo, name):
    return re.findall(rf'data-name="{name}">([^<]*)<', demo._repr_html_())


def runs():
    kinds = ("plain", "norm-only", "residual", "pre-norm", "post-norm")
    return {
        kind: {name: (10.0 ** (k * np.arange(LENGTH) - s)).tolist()
               for s, name in enumerate(("rms", "gradient", "spread"))}
        for k, kind in enumerate(kinds, start=-2)
    }  # fmt: skip


def flat_run(last):
    return {name: [1.0, last] for name in ("rms", "gradient", "spread")}


def test_still_view_of_the_block_names_the_stack_and_its_numbers():
    """pre-norm grows tenfold a block here; gradient and spread start at 1/10 and 1/100."""
    demo = demos.block_demo(runs(), block=3)
    assert shown(demo, "kind") == ["pre-norm"]
    assert [shown(demo, n)[0] for n in ("rms", "gradient", "spread")] == ["1,000", "100", "10"]


def test_powers_beyond_four_digits_are_written_as_such():
    demo = demos.block_demo(runs(), sums=0, norms=0, block=4)
    assert [shown(demo, n)[0] for n in ("rms", "spread")] == ["10⁻⁸", "10⁻¹⁰"]


@needs_node
@pytest.mark.parametrize("choice", [(0, 0, 4), (0, 2, 1), (1, 0, 2), (1, 1, 3), (1, 2, 0)])
def test_script_of_the_block_shows_what_the_still_view_does(choice):
    demo = demos.block_demo(runs(), *choice)
    values = dict(zip(("sums", "norms", "block"), choice, strict=False))
    out = run_script(PAGE, demos.block_demo(runs(), block=1), values)
    for name in ("kind", "rms", "gradient", "spread"):
        assert out[name] == shown(demo, name)
    kind = demos.STACKS[choice[0]][choice[1]]
    for name, mark in zip(demos.SERIES, out["plane"]["marks"][1:], strict=True):
        found = np.array(mark["at"])
        np.testing.assert_allclose(found[:, 1], runs()[kind][name], rtol=1e-9)


def test_a_number_that_is_gone_counts_as_the_lowest():
    gone = runs()
    gone["plain"]["spread"] = [1.0, 0.0, 0.0, 0.0, 0.0]
    demo = demos.block_demo(gone, sums=0, norms=0, block=4)
    assert shown(demo, "spread") == ["10⁻¹⁶"]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"pre-norm": {}}, {}, "runs need 'pre-norm'"),
        ({"plain": flat_run(np.inf)}, {}, "finite"),
        ({"plain": flat_run(2.0)}, {}, "one length"),
        ({}, {"block": 9}, "block=9"),
        ({}, {"norms": 3}, "norms=3"),
    ],
)
def test_block_demo_refuses_what_it_cannot_show(change, options, message):
    with pytest.raises(InputError, match=message):
        demos.block_demo(runs() | change, **({"block": 1} | options))

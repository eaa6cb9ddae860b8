import re

import pytest
from plot.node import needs_node, run_script

from lab.small_updates import demos
from lab.small_updates.demos import MODELS, TARGETS, calculated
from mathlm.errors import InputError
from mathlm.plot.demo import byte_size
from mathlm.scaling import PUBLISHED, count_parameters

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]) };
const changed = () => {}, reset = () => {};
"""
UPDATES = {
    "chats": {
        "ranks": [0, 1, 8],
        "energy": [0, 0.25, 0.5],
        "kept": [0, 0.5, 0.9],
        "random": [-0.1, 0, 0.1],
        "loss": [3, 2, 1.5],
        "numbers": [0, 0.01, 0.1],
    }
}


def test_the_calculator_counts_a_model_by_hand():
    """LLaMA 7B, W_q and W_v, rank 16: 32 layers of 2 pairs of 16 · 8192 numbers."""
    found = calculated(PUBLISHED["llama-7b"], ("q", "v"), 16, 32, 16)
    n = count_parameters(PUBLISHED["llama-7b"])
    assert found["trained"] == 32 * 2 * 16 * 8192
    assert found["fewer"] == 128
    assert (found["full"], found["small"]) == (16 * n, 2 * n + 16 * found["trained"])


@needs_node
@pytest.mark.parametrize(("model", "targets", "rank"), [(0, 2, 3), (2, 0, 4), (4, 1, 6)])
def test_the_script_calculates_as_python_does(model, targets, rank):
    values = {"model": model, "targets": targets, "rank": rank, "layers": 80, "base": 2}
    out = run_script(STUB, demos.lora_calculator_demo(), values)
    config = PUBLISHED[list(MODELS.values())[model]]
    found = calculated(config, list(TARGETS.values())[targets], 2**rank, 80, 4)
    assert out["trained"] == f"{found['trained']:,}"
    assert [out["memory"], out["memory1"]] == [byte_size(found[k]) for k in ("full", "small")]


@needs_node
def test_the_slider_shows_what_a_rank_keeps():
    out = run_script(STUB, demos.rank_kept_demo(UPDATES, 1), {"update": 0, "rank": 2})
    assert (out["rank-value"], out["energy"], out["gain"], out["loss"]) == (
        "8",
        "50 %",
        "90 %",
        "1.500",
    )


def test_the_slider_is_readable_without_scripts():
    html = demos.rank_kept_demo(UPDATES, 1)._repr_html_().split("<script>")[0]
    assert re.findall(r'data-name="gain">([^<]*)<', html) == ["50 %"]


def test_lists_of_different_lengths_and_no_update_are_refused():
    with pytest.raises(InputError, match="no updates"):
        demos.rank_kept_demo({})
    with pytest.raises(InputError, match=r"\[2, 3\] values"):
        demos.rank_kept_demo({"x": UPDATES["chats"] | {"loss": [1, 2]}})

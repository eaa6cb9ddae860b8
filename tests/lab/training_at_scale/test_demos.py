import re

import pytest
from plot.node import needs_node, run_script

from lab.training_at_scale import demos
from lab.training_at_scale.pipeline_schedule import idle_share, most_held, pipeline_tasks
from mathlm.scaling import sharded_memory

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + "-bar" + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]),
  set innerHTML(html) { out[name] = html; } };
const changed = () => {}, reset = () => {};
"""


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


@needs_node
@pytest.mark.parametrize("stage", range(4))
@pytest.mark.parametrize(("model", "exponent"), [(0, 0), (1, 6), (2, 6)])
def test_the_script_divides_the_memory_as_python_does(model, exponent, stage):
    demo = demos.zero_memory_demo(model, 2**exponent, stage)
    at = {"model": model, "devices": exponent, "stage": stage}
    out = run_script(STUB, demos.zero_memory_demo(), at)
    assert [out["part"], out["part1"], out["part2"]] == shown(demo, "part")
    for name in ("total", "sent", "fits"):
        assert [out[name]] == shown(demo, name)


def test_the_demo_of_zero_shows_the_memory_of_the_package():
    total = sum(sharded_memory(7_000_000_000, 8, 3).values())
    assert shown(demos.zero_memory_demo(1, 8, 3), "total") == [f"{total / 1e9:.1f} GB"]
    assert shown(demos.zero_memory_demo(3, 1, 0), "total") == ["6.48 TB"]  # 405e9 · 16 bytes
    assert shown(demos.zero_memory_demo(1, 8, 3), "devices-value") == ["8"]


@needs_node
@pytest.mark.parametrize(("p", "m", "order"), [(4, 8, 0), (4, 8, 1), (1, 3, 1), (5, 2, 0)])
def test_the_script_draws_the_schedule_of_the_package(p, m, order):
    tasks = pipeline_tasks(p, m, ("gpipe", "1f1b")[order])
    out = run_script(STUB, demos.pipeline_demo(), {"stages": p, "parts": m, "order": order})
    assert out["idle"] == f"{100 * idle_share(tasks):.1f} %"
    assert out["held"] == str(most_held(tasks, 0))
    idle, passes = (m for m in out["picture"]["marks"] if m["kind"] == "boxes")
    found = sorted(zip(passes["at"], passes["color"], strict=True))
    colors = ("accent", "second")
    expected = [([t.start, t.stage, t.end, t.stage + 1], colors[t.backward]) for t in tasks]
    assert found == sorted(expected)
    total = max(t.end for t in tasks)
    assert (out["whole"], out["picture"]["x"]["range"]) == (str(total), [0, total])
    assert idle["at"] == [[0, 0, total, p]]
    numbers = {(*m["at"][0], m["text"]) for m in out["picture"]["marks"] if m["kind"] == "text"}
    middles = {((t.start + t.end) / 2, t.stage + 0.5, str(t.micro_batch + 1)) for t in tasks}
    assert numbers == middles


def test_the_still_picture_of_a_pipeline_has_a_box_for_each_pass():
    html = demos.pipeline_demo(3, 2)._repr_html_()
    assert html.split("<script>")[0].count("<rect") == 12 + 2  # idle time and the frame
    assert all(f">stage {s}<" in html for s in (1, 2, 3))
    assert shown(demos.pipeline_demo(3, 2), "whole") == ["12"]
    assert shown(demos.pipeline_demo(3, 2), "idle") == ["50.0 %"]

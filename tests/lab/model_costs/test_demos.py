import re

import pytest
from plot.node import needs_node, run_script

from lab.model_costs import demos
from mathlm.errors import InputError
from mathlm.models import GPTConfig
from mathlm.plot.demo import scientific
from mathlm.scaling import (
    count_parameters,
    flops_per_token,
    kv_cache_bytes,
    training_days,
    training_memory,
)

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {};
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || { value: String(values[name]) };
const changed = (draw) => { out.draw = draw; }, reset = () => {};
"""
CHOOSE = "\none('plan').value = String(values.then); out.draw(); delete out.draw;"
START = {"plan": 2, "style": 1, "layers": 32, "width": 4096, "head": 1, "groups": 32,
         "inner": 11_008, "vocabulary": 32_000, "tied": 1, "context": 11, "tokens": 12,
         "device": 0, "count": 10, "use": 40}  # fmt: skip
SETTINGS = {
    "LLaMA 7B": {},
    "grouped": {"groups": 8, "inner": 14_336, "context": 13, "vocabulary": 128_256},
    "GPT-2": {"style": 0, "layers": 12, "width": 768, "head": 0, "groups": 12, "inner": 3072,
              "vocabulary": 50_257, "tied": 0, "context": 10, "tokens": 10},
    "narrow, one key head": {"style": 1, "layers": 30, "width": 576, "head": 1, "groups": 1,
                             "inner": 1536, "tied": 0, "count": 0, "device": 1, "use": 25},
}  # fmt: skip
PARAMETERS = {  # as published
    0: 124_439_808, 2: 6_738_415_616, 3: 68_976_648_192, 4: 134_515_008,
}  # fmt: skip


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def config_of(at):
    K = 64 if at["width"] % 128 else 64 * (1 + at["head"])
    llama = at["style"] == 1
    return GPTConfig(
        vocab_size=at["vocabulary"], context=2 ** at["context"], d_model=at["width"],
        n_layers=at["layers"], n_heads=at["width"] // K, n_kv_heads=at["groups"],
        d_ff=at["inner"], norm="rms" if llama else "layer", bias=not llama,
        activation="swiglu" if llama else "gelu_tanh", position="rope" if llama else "learned",
        tie_embeddings=at["tied"] == 0,
    )  # fmt: skip


def near(text, value):
    """Whether three digits and a letter are those of a number."""
    digits, letter = re.fullmatch(r"([\d.]+) ?([TGMk]?)(?:B|bytes)?", text).groups()
    size = {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0}[letter]
    return float(digits) * size == pytest.approx(value, rel=6e-3)


@needs_node
@pytest.mark.parametrize("change", SETTINGS.values(), ids=SETTINGS)
def test_the_script_counts_parameters_and_memory_as_the_package_does(change):
    at = START | change
    config, out = config_of(at), run_script(STUB, demos.architecture_calculator_demo(), at)
    memory = training_memory(config, config.context, bytes_per_number=2, master_bytes=4)
    assert out["N"] == f"{count_parameters(config):,}"
    assert near(out["saved"], memory["activations"])
    assert near(out["steady"], sum(memory[k] for k in ("weights", "gradients", "optimizer")))
    assert near(out["cache"], kv_cache_bytes(config, config.context))


@needs_node
@pytest.mark.parametrize("change", SETTINGS.values(), ids=SETTINGS)
def test_the_script_counts_work_and_days_as_the_package_does(change):
    at = START | change
    config, out = config_of(at), run_script(STUB, demos.architecture_calculator_demo(), at)
    work = flops_per_token(config, config.context, training=True)
    rate = [312e12, 989e12][at["device"]]
    days = training_days(work * 10 ** at["tokens"], rate, at["use"] / 100, 2 ** at["count"])
    assert near(out["forward"], work / 3)
    assert out["total"] == scientific(work * 10 ** at["tokens"], 2)
    assert out["ratio"] == f"{work / (6 * count_parameters(config)):.2f}"
    assert float(out["days"].replace(",", "")) == pytest.approx(days, rel=6e-3, abs=0.5)


@needs_node
@pytest.mark.parametrize(("plan", "parameters"), PARAMETERS.items())
def test_choosing_a_model_moves_every_slider_to_it(plan, parameters):
    demo = demos.architecture_calculator_demo("GPT-3 (2020)")
    at = START | {"plan": 1, "then": plan}
    out = run_script(STUB, _then(demo), at)
    assert out["N"] == f"{parameters:,}"


def _then(demo):
    """The demo, whose reader goes on to choose another model."""

    class Chosen:
        script, state = demo.script + CHOOSE, demo.state

    return Chosen


@needs_node
def test_the_script_shows_at_first_what_the_still_view_shows():
    demo = demos.architecture_calculator_demo()
    out = run_script(STUB, demo, START)
    names = ("N", "H", "G", "size", "forward", "total", "ratio", "steady", "saved", "cache")
    assert [[out[name]] for name in (*names, "days")] == [
        shown(demo, name) for name in (*names, "days")
    ]
    assert [out["share"], out["share1"], out["share2"]] == shown(demo, "share")


def test_the_still_view_is_llama_7b():
    """Touvron et al. (2023): 6.7 billion parameters, 82,432 A100 hours for 10^12 tokens.

    1,024 of them at 40 % would take 82,432 hours at the utilization of that run, 44 %.
    """
    demo = demos.architecture_calculator_demo()
    assert shown(demo, "N") == ["6,738,415,616"]
    hours = float(shown(demo, "days")[0]) * 24 * 1024
    assert hours == pytest.approx(82_432, rel=0.2)


def test_an_unknown_start_is_refused():
    with pytest.raises(InputError, match="start='GPT-5' is not one of GPT-2"):
        demos.architecture_calculator_demo("GPT-5")

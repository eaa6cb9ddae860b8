import re

import numpy as np
import pytest
import torch
from plot.node import needs_node, run_script

from lab.generation import demos
from lab.generation.demos import kept_prefix
from mathlm.errors import InputError
from mathlm.generate import token_probabilities

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const fixed = (x, d) => x.toFixed(d), out = {}, elements = {}, still = false;
const text = (name, value, i = 0) => { out[name + (i ? i : "")] = value; };
const bar = (name, share, i = 0) => { out[name + (i ? i : "")] = share; };
const one = (name) => elements[name] = elements[name] || {
  value: String(values[name]), valueAsNumber: values[name] };
const all = (name) => name !== "token" && name !== "alternative" ? [] :
  Array.from({ length: name === "token" ? state.steps.length : 3 }, (_, i) => ({
    style: {}, addEventListener: (e, f) => { if (e === "keydown") out[`key${i}`] = 1; },
    setAttribute: (k, x) => { out[`${name}-${k}-${i}`] = x; } }));
const changed = () => {}, reset = () => {};
"""
SETTINGS = [
    (1.0, 16, 1.0, 0.0),
    (0.7, 3, 0.9, 0.0),
    (1.5, 16, 0.6, 0.02),
    (0.3, 0, 0.05, 0.5),
    (2.0, 8, 1.0, 0.01),
    (1.0, 16, 1.0, 0.1),
]


@pytest.fixture
def logits():
    return 3 * np.random.default_rng(3).normal(size=900)


def expected(logits, T, k, P, r):
    """Sizes and masses of what the package keeps of the whole vocabulary."""
    z = torch.from_numpy(logits)
    most = None if k >= 16 else round(2**k)
    q = token_probabilities(z, T, most, P, min_p=r)
    return int((q > 0).sum()), float((z / T).softmax(-1)[q > 0].sum()), q.sort().values.flip(0)


@needs_node
@pytest.mark.parametrize(("T", "k", "P", "r"), SETTINGS)
def test_the_script_keeps_what_the_package_keeps(logits, T, k, P, r):
    demo = demos.next_token_demo({"a": (logits, str)})
    at = {"example": 0, "temperature": T, "k": k, "p": P, "m": r}
    out = run_script(STUB, demo, at)
    count, mass, q = expected(logits, T, k, P, r)
    assert int(out["kept"].replace(",", "")) == pytest.approx(count, rel=0.02)
    assert float(out["mass"]) == pytest.approx(mass, abs=2e-3)
    found = [out["after-bar" + (str(i) if i else "")] for i in range(8)]
    np.testing.assert_allclose(found, q[:8], atol=2e-3)


@pytest.mark.parametrize(("T", "k", "P", "r"), SETTINGS)
def test_bins_and_whole_vocabulary_agree(logits, T, k, P, r):
    z = np.sort(logits)[::-1]
    most = None if k >= 16 else round(2**k)
    H, count, mass, p = kept_prefix(z, np.ones(900, int), T, most, P, r)
    tempered = torch.from_numpy(z / T).softmax(-1)
    assert (count, mass) == pytest.approx(expected(logits, T, k, P, r)[:2], rel=1e-9)
    assert pytest.approx(torch.special.entr(tempered).sum().item()) == H
    np.testing.assert_allclose(p, tempered, rtol=1e-12)


def shown(demo, name):
    html = demo._repr_html_().split("<script>")[0]
    return re.findall(rf'data-name="{name}">([^<]*)</b>', html)


def test_the_first_picture_is_readable_without_the_script(logits):
    demo = demos.next_token_demo({"a": (logits, lambda i: f" t{i}")}, temperature=0.5)
    p = np.exp(2 * (logits - logits.max()))
    p /= p.sum()
    assert shown(demo, "entropy") == [f"{-(p * np.log(p)).sum():.2f}"]
    assert shown(demo, "kept") == ["900"]
    assert f"␣t{logits.argmax()}" in demo._repr_html_()


def test_a_page_does_not_hold_a_vocabulary(logits):
    demo = demos.next_token_demo({"a": (np.tile(logits, 50) + np.linspace(0, 1, 45_000), str)})
    assert len(demo._repr_html_()) < 20_000
    assert sum(demo.state["examples"][0]["n"]) == 45_000


STEPS = [
    (" the", 0.5, 1, 1.2, [(" the", 0.5), (" a", 0.3), ("\n", 0.1)]),
    (" <cat>", 0.02, 9, 4.0, [(" dog", 0.2), (" end", 0.1), (" x", 0.1)]),
]


@needs_node
def test_the_replay_shows_the_last_written_token_and_its_alternatives():
    out = run_script(STUB, demos.replay_demo("On", STEPS), {"written": 2})
    assert out["chosen"] == "␣the"
    assert [out["alternative"], out["alternative1"], out["alternative2"]] == ["␣the", "␣a", "⏎"]
    assert out["share-bar1"] == 0.3
    assert [out[f"token-aria-pressed-{i}"] for i in (0, 1)] == ["true", "false"]
    assert out["key0"] == out["key1"] == 1


def test_the_replay_is_a_readable_text_without_the_script():
    html = demos.replay_demo("On", STEPS)._repr_html_()
    text = re.search(r'<p class="text">(.*?)</p>', html).group(1)
    assert re.sub(r"<[^>]*>", "", text) == "On the &lt;cat&gt;"
    assert "␣&lt;cat&gt;, probability 0.020" in html


def test_what_cannot_be_shown_is_refused():
    with pytest.raises(InputError, match="there is no example"):
        demos.next_token_demo({})
    with pytest.raises(InputError, match=r"logits of shape \(3,\): give \(V,\) finite"):
        demos.next_token_demo({"a": (np.zeros(3), str)})
    with pytest.raises(InputError, match=r"temperature=3 must lie between 0\.1 and 2"):
        demos.next_token_demo({"a": (np.zeros(30), str)}, temperature=3)
    with pytest.raises(InputError, match=r"2 tokens with \[2, 3\] alternatives"):
        demos.replay_demo("", [STEPS[0], (*STEPS[1][:4], STEPS[1][4][:2])])

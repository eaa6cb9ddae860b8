"""One token's way: its numbers, and the demo that shows them."""

import pytest
import torch
from plot.node import needs_node, run_script

from lab.whole_stack import demos, token_way
from mathlm.chat.model import ChatModel
from mathlm.errors import InputError
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message

STUB = """
const state = JSON.parse(process.argv[1]), values = JSON.parse(process.argv[2]);
const out = {}, elements = {}, clicks = [];
const text = (name, value) => { out[name] = value; };
const one = (name) => elements[name] = elements[name] || {
  value: String(values[name]), addEventListener: (kind, f) => clicks.push(f) };
const changed = () => {}, reset = () => {};
"""


@pytest.fixture
def small():
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=256, context=96, d_model=16, n_layers=3, n_heads=2)
    form = ChatFormat.named()
    return ChatModel(model=GPT(config).float(), tokenizer=Bytes(form.special), format=form)


def test_the_way_ends_with_what_the_model_says(small):
    found = token_way.token_way(small, "Hi you", depths=(0, 2, 3))
    chat = small.format.encode([Message("user", "Hi you")], small.tokenizer, answer=True)
    with torch.no_grad():
        p = torch.softmax(small.model(torch.from_numpy(chat.ids)[None])[0, -1].double(), -1)
    assert found["ids"] == list(b"Hi you")
    assert found["length"] == len(chat.ids)
    assert found["top"][0][1] == pytest.approx(float(p.max()), abs=1e-3)
    assert found["depths"][-1][1] == found["top"][0][0]
    assert [d for d, _ in found["depths"]] == [0, 2, 3]
    row = small.model.token_embedding.weight[ord("H")]
    assert found["norm"] == pytest.approx(float(row.norm().detach()), abs=0.01)


def test_each_update_and_the_answer_have_a_stop(small):
    way = token_way.token_way(small, "Hi", depths=(0, 3))
    found = token_way.steps(way, {"tuned": [("Yes", 0.25)]}, "Yes, it is.")
    assert [s["title"] for s in found][-2:] == ["tuned", "an answer, token by token"]
    assert found[-2]["text"] == "“Yes” 25.0 %"
    assert found[0]["text"] == "Hi"


def test_without_steps_there_is_no_demo():
    with pytest.raises(InputError, match="no steps to show"):
        demos.token_way_demo([])


@needs_node
def test_the_script_shows_the_chosen_stop():
    steps = [{"title": t, "chapter": str(i), "text": t * 2} for i, t in enumerate("abc")]
    out = run_script(STUB, demos.token_way_demo(steps), {"step": 2})
    assert (out["title"], out["chapter"], out["text"]) == ("b", "chapter 1", "bb")


def test_several_chapters_are_called_so():
    steps = [{"title": n, "chapter": n, "text": ""} for n in ("8", "21 and 24", "10 to 17")]
    page = demos.token_way_demo(steps)._repr_html_()
    assert all(
        f"({x})" in page for x in ("chapter 8", "chapters 21 and 24", "chapters 10 to 17")
    )


def test_without_scripts_every_stop_is_read():
    steps = [{"title": t, "chapter": "1", "text": f"<{t}>"} for t in "abc"]
    page = demos.token_way_demo(steps)._repr_html_()
    assert page.count("<li>") == 3
    assert "&lt;b&gt;" in page

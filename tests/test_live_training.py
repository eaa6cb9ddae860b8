"""The model that is trained in the page: its engine in Node against the package and torch."""

import base64
import gzip
import json
import math
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest
import torch
import train_picture as tool
from live_weights import script, uniform
from torch import nn

from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, clip_grad_norm

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None)
V = 11
SIZES = {
    "full": {"context": 64, "width": 48, "layers": 2, "heads": 4, "hidden": 96},
    "small": {"context": 64, "width": 16, "layers": 2, "heads": 2, "hidden": 40},
}
OPTIONS = {"batch": 8, "clip": 1.0, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "decay": 0.1}
WARM_UP = 20
LIMIT = 1e-9  # relative; the same formulas in another order of additions give 1e-13


def engine(program, given=None, file=tool.ENGINE):
    """What an expression of JavaScript gives that has the engine ``e`` and the ``input``."""
    start = (
        "const e = require(process.argv[1]);"
        "const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "const ints = (x) => Int32Array.from(x);"
    )
    done = subprocess.run(
        ["node", "-e", f"{start} console.log(JSON.stringify({program}));", str(file)],
        input=json.dumps(given), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def faulty(tmp_path, old, new):
    """The engine with one fault."""
    source = tool.ENGINE.read_text(encoding="utf-8")
    assert old in source
    path = tmp_path / "engine.js"
    path.write_text(source.replace(old, new), encoding="utf-8")
    return path


def gpt(size, theta, vocab=V):
    """The package's model with the parameters of the engine, which stand in the same order."""
    s = SIZES[size]
    model = GPT(
        GPTConfig(
            vocab_size=vocab, context=s["context"], d_model=s["width"], n_layers=s["layers"],
            n_heads=s["heads"], d_ff=s["hidden"], norm="rms", activation="swiglu",
            position="rope", bias=False,
        )
    ).double()  # fmt: skip
    place = model.position  # its tables have float32's digits whatever the default dtype is
    place.cos, place.sin = place.cos.float().double(), place.sin.float().double()
    parts = torch.tensor(theta, dtype=torch.float64).split([p.numel() for p in own(model)])
    with torch.no_grad():
        for p, values in zip(own(model), parts, strict=True):
            p.copy_(values.view_as(p))
    return model


def own(model):
    """The parameters in the order of the vector of the engine."""
    kinds = "attention_norm.gamma", "W_q", "W_k", "W_v", "W_o", "feed_forward_norm", "W_in"
    kinds = *kinds, "W_gate", "W_out"
    named = dict(model.named_parameters())
    inner = [
        next(p for n, p in named.items() if n.startswith(f"blocks.{layer}.") and kind in n)
        for layer in range(model.config.n_layers)
        for kind in kinds
    ]
    return [named["token_embedding.weight"], *inner, named["final_norm.gamma"]]


def gradient(model):
    return torch.cat([p.grad.flatten() for p in own(model)])


def relative(found, wanted):
    found, wanted = (torch.as_tensor(x, dtype=torch.float64) for x in (found, wanted))
    return float((found - wanted).abs().max() / wanted.abs().max())


def loss_of(model, ids, targets, B):
    ids, targets = (torch.tensor(x).view(B, -1) for x in (ids, targets))
    return nn.functional.cross_entropy(model(ids).mT, targets)


# --- the gradient -----------------------------------------------

MOVED = """(() => {
  const m = e.start({ ...e.SIZES[input.size], vocab: input.vocab }, input.seed);
  const uniform = e.random(99);
  for (let i = 0; i < m.theta.length; i++) m.theta[i] += 0.1 * e.normal(uniform);
  const { ids, targets, B, at } = input;
  const loss = e.lossAndGradient(m, ints(ids), ints(targets), B, at);
  return { theta: [...m.theta], loss, gradient: [...m.gradient], names: m.places };
})()"""


ONE = {  # gradients of the loss at one position that are wrong
    "later positions count": (".fill(0, (at + 1) * V)", ""),
    "earlier positions count": ("dz.fill(0, 0, at * V)", "dz"),
    "a mean": ("else dz.fill", "for (let i = 0; i < dz.length; i++) dz[i] /= N; dz.fill"),
}


@pytest.mark.parametrize("at", [3, 7, 13, 19])  # one score alone has no gradient
def test_the_gradient_of_the_loss_at_one_position(at):
    loss, gradient = worst(case() | {"at": at})
    assert loss <= LIMIT
    assert max(gradient) <= LIMIT


@pytest.mark.parametrize("name", ONE)
def test_a_fault_in_the_gradient_at_one_position_is_seen(tmp_path, name):
    old, new = ONE[name]
    assert max(worst(case() | {"at": 7}, faulty(tmp_path, old, new))[1]) > LIMIT


def case(size="small", B=2, T=10, seed=5):
    g = np.random.default_rng(seed)
    ids, targets = g.integers(V, size=(2, B * T)).tolist()
    return {"size": size, "vocab": V, "seed": seed, "ids": ids, "targets": targets, "B": B}


def worst(case, file=tool.ENGINE):
    """The largest relative error of the loss, and of the gradient of any array."""
    found = engine(MOVED, case, file)
    model = gpt(case["size"], found["theta"])
    if (at := case.get("at")) is None:
        loss = loss_of(model, case["ids"], case["targets"], case["B"])
    else:
        logits = model(torch.tensor(case["ids"]).view(case["B"], -1)).flatten(0, 1)
        loss = -logits[at].log_softmax(-1)[case["targets"][at]]
    loss.backward()
    sizes = [p.numel() for p in own(model)]
    theirs = torch.tensor(found["gradient"], dtype=torch.float64).split(sizes)
    errors = [relative(a.view_as(p), p.grad) for a, p in zip(theirs, own(model), strict=True)]
    return abs(found["loss"] / loss.item() - 1), errors


@pytest.mark.parametrize(
    "given",
    [case(), case("full"), case("full", B=3, T=64),
     case(B=1, T=1), case(B=1, T=7), case(B=3, T=5)],
    ids=lambda c: f"{c['size']} {c['B']}x{len(c['ids']) // c['B']}",
)  # fmt: skip
def test_the_gradient_of_every_parameter_is_that_of_autograd(given):
    loss, errors = worst(given)
    assert loss <= LIMIT
    if len(given["ids"]) == 1:  # one key: queries and keys have no gradient, only noise
        errors = [error for i, error in enumerate(errors) if i not in (2, 3, 11, 12)]
    assert max(errors) <= LIMIT


def test_the_arrays_bear_the_names_and_shapes_of_the_package():
    places = engine(MOVED, case())["names"]
    model = gpt("small", engine(MOVED, case())["theta"])
    names = {n: tuple(p.shape) for n, p in model.named_parameters()}
    assert {n: (r, c) if std else (c,) for n, r, c, std in places} == names


def test_the_angles_have_the_digits_of_the_package():
    for size in SIZES:
        found = engine("e.start({ ...e.SIZES[input], vocab: 3 }, 0).rotation", size)
        model = gpt(
            size, engine("[...e.start({ ...e.SIZES[input], vocab: 11 }, 0).theta]", size)
        )
        for name in ("cos", "sin"):
            table = list(found[name].values())
            assert table == getattr(model.position, name).flatten().tolist()


FAULTS = {
    "no mask": ("s <= t", "s < T"),
    "matrix not transposed": ("addProduct(dy, transposed(W, out, ins)", "addProduct(dy, W"),
    "scale of the scores lost": ("(dA[s] - mean) * root", "(dA[s] - mean)"),
    "sum over keys lost": ("(dA[s] - mean) * root", "dA[s] * root"),
    "values of the diagonal alone": ("dv[j] += a *", "if (s === t) dv[j] += a *"),
    "rotated forward twice": ("rotation, shape, -1)", "rotation, shape, 1)"),
    "norm as a constant": ("- x[j] * scale[n] * mean", ""),
    "gate as a constant": ("s * (1 + gate[i] * (1 - s))", "s"),
    "rows of the embedding lost": ("G[E][id * D + i] += dx[n * D + i];", "0;"),
    "mean over nothing": ("dz[i] /= N", "dz[i] /= 1"),
    "epsilon lost": ("square / D + EPS", "square / D"),
    "one route into the second norm": ('W_gate.weight", dh2)', 'W_gate.weight", zeros(D))'),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_seen(tmp_path, name):
    loss, errors = worst(case(), faulty(tmp_path, *FAULTS[name]))
    assert not (loss <= 1e-6 and max(errors) <= 1e-6)


# --- training ---------------------------------------------------


def normals(seed) -> Iterator[float]:
    """Sums of twelve numbers in [0, 1), less six."""
    numbers = uniform(seed)
    while True:
        yield sum(islice(numbers, 12), -6.0)


def test_python_draws_the_same_start_bit_for_bit():
    seed = 2**32 - 1
    found = engine("[...e.start({ ...e.SIZES.full, vocab: 11 }, input).theta]", seed)
    draws, wanted, model = normals(seed), [], gpt("full", found)
    names = {p: n for n, p in model.named_parameters()}
    for p in own(model):
        std = 0.05 if names[p].endswith(("W_o.weight", "W_out.weight")) else 0.1
        wanted += [1.0 if p.ndim == 1 else std * next(draws) for _ in range(p.numel())]
    assert found == wanted


def starts(seed, step, count, last):
    numbers = uniform(seed + (step + 1) * 0x9E3779B9)
    return [math.floor(next(numbers) * (last + 1)) for _ in range(count)]


def test_python_draws_the_same_windows():
    given = [[0, 0, 8, 100], [7, 299, 8, 54_000], [2**32 - 1, 5, 3, 0]]
    assert engine("input.map((x) => e.starts(...x))", given) == [starts(*x) for x in given]


TEXT = "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer. "
RUN = """(() => {
  const m = e.start({ ...e.SIZES[input.size], vocab: input.vocab }, input.seed);
  const theta = [...m.theta], text = ints(input.text);
  const losses = Array.from({ length: 20 }, () => e.trainStep(m, text, input.rate));
  return { theta, losses, end: [...m.theta] };
})()"""


def run_given(size="small", rate=0.02):
    characters = sorted(set(TEXT))
    text = [characters.index(c) for c in TEXT * 3]
    return {
        "size": size,
        "rate": rate,
        "seed": 3,
        "text": text,
        "vocab": len(characters),
    }


def trained(given, theta, optimizer_of, steps=20):
    """Losses of a run in torch, norms of its gradients, and where it ends."""
    model = gpt(given["size"], theta, given["vocab"])
    gains = [p for p in own(model) if p.ndim == 1]
    matrices = [p for p in own(model) if p.ndim == 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": gains, "weight_decay": 0.0}]
    optimizer = optimizer_of(groups, lr=0.0, betas=(0.9, 0.99), eps=1e-8)
    text, T, losses, norms = given["text"], SIZES[given["size"]]["context"], [], []
    for step in range(steps):
        first = starts(given["seed"], step, 8, len(text) - T - 1)
        ids, targets = ([text[i + k : i + k + T] for i in first] for k in (0, 1))
        loss = loss_of(model, ids, targets, 8)
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(clip_grad_norm(own(model), 1.0)))
        for group in optimizer.param_groups:
            group["lr"] = given["rate"] * min(1, (step + 1) / WARM_UP)
        optimizer.step()
        losses.append(loss.item())
    return losses, norms, torch.cat([p.detach().flatten() for p in own(model)])


@pytest.mark.parametrize("optimizer_of", [torch.optim.AdamW, AdamW])
@pytest.mark.parametrize("size", ["small", pytest.param("full", marks=pytest.mark.slow)])
def test_twenty_losses_and_the_end_are_those_of_torch(size, optimizer_of):
    given = run_given(size)
    found = engine(RUN, given)
    losses, norms, end = trained(given, found["theta"], optimizer_of)
    assert max(norms) > 1  # some steps are clipped, and of the small model some are not
    assert size == "full" or min(norms) < 1
    assert losses[-1] < losses[0] - 0.5
    assert relative(found["losses"], losses) <= LIMIT
    assert relative(found["end"], end) <= LIMIT


SLIPS = {
    "bias correction of the mean lost": ("m / c1 /", "m /"),
    "bias correction of the square lost": ("v / c2", "v"),
    "clipping lost": ("Math.min(1, clip / size)", "1"),
    "decay of the gains": ("std ? decay : 0", "decay"),
    "decay through the moments": ("g = scale *", "g = lambda * model.theta[i] + scale *"),
    "epsilon under the root": ("Math.sqrt(v / c2) + eps", "Math.sqrt(v / c2 + eps)"),
    "no warm-up": ("Math.min(1, (step + 1) / OPTIONS.warmUp)", "1"),
    "windows of the step before": ("imul(step + 1, 0x9e3779b9)", "imul(step, 0x9e3779b9)"),
    "targets are the inputs": ("targets: cut(1)", "targets: cut(0)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_in_training_is_seen(tmp_path, name):
    given = run_given()
    found = engine(RUN, given, faulty(tmp_path, *SLIPS[name]))
    losses, _, end = trained(given, found["theta"], torch.optim.AdamW)
    assert relative(found["losses"], losses) > 1e-6 or relative(found["end"], end) > 1e-6


# --- differences, evaluation, writing ---------------------------

DIFFERENCES = """(() => {
  const m = e.start({ ...e.SIZES.small, vocab: 11 }, 2), { places, theta } = m, given = {
    ids: ints(input.ids), targets: ints(input.targets), B: input.B };
  e.lossAndGradient(m, given.ids, given.targets, given.B);
  const before = [...theta];
  let at = 0;
  const pairs = places.flatMap(([, rows, columns]) => {
    const part = m.gradient.subarray(at, at + rows * columns);
    const size = Math.abs;
    const largest = part.reduce((best, g, i) => size(g) > size(part[best]) ? i : best, 0);
    at += rows * columns;
    return [[part[largest], e.difference(m, given, at - rows * columns + largest, 1e-5)]];
  });
  return { pairs, same: before.every((x, i) => x === theta[i]) };
})()"""


def test_differences_of_the_loss_agree_in_the_largest_entry_of_each_array():
    found = engine(DIFFERENCES, case())
    assert found["same"]  # the parameters are put back
    for hand, difference in found["pairs"]:
        assert abs(difference / hand - 1) < 1e-6


def test_evaluation_is_the_mean_over_whole_windows():
    given = {**run_given(), "text": (run_given()["text"] * 2)[:200]}
    program = """(() => { const m = e.start({ ...e.SIZES.small, vocab: input.vocab }, 1);
      return { theta: [...m.theta], nats: e.evaluate(m, ints(input.text)) }; })()"""
    found = engine(program, given)
    model, text = gpt("small", found["theta"], given["vocab"]), given["text"]
    ids, targets = ([text[w + k : w + k + 64] for w in (0, 64, 128)] for k in (0, 1))
    with torch.no_grad():
        assert found["nats"] == pytest.approx(loss_of(model, ids, targets, 3).item(), rel=LIMIT)


def test_both_write_the_same_characters():
    """From one character to beyond the context, where the oldest are forgotten."""
    program = """(() => { const m = e.start({ ...e.SIZES.small, vocab: 11 }, 1);
      for (let i = 0; i < m.theta.length; i++) m.theta[i] *= 3;
      return { theta: [...m.theta], ids: e.write(m, [4], 70, 0.8, 6) }; })()"""
    found = engine(program)
    model, numbers, ids = gpt("small", found["theta"]), uniform(6), [4]
    for _ in range(70):
        with torch.no_grad():
            p = (model(torch.tensor([ids[-64:]]))[0, -1] / 0.8).softmax(-1)
        ids.append(int((p.cumsum(0) > next(numbers)).int().argmax()))
    assert found["ids"] == ids[1:]
    assert len(set(ids)) > 3


def test_what_counting_reaches_by_hand():
    """Text 0 0 1, one added to each count; the other text is 0 1."""
    found = engine("e.counted(ints([0, 0, 1]), ints([0, 1]), 2)")
    wanted = {"alike": math.log(2), "letters": -math.log(2 / 5), "pairs": -math.log(2 / 4)}
    assert found == pytest.approx(wanted, rel=1e-12)


# --- saved and loaded -------------------------------------------

SAVED = """(() => {
  const m = e.start({ ...e.SIZES.small, vocab: input.vocab }, input.seed);
  const text = ints(input.text);
  const train = (model, n) => { for (let i = 0; i < n; i++) e.trainStep(model, text, 0.02); };
  const characters = "abcdefghijklmnopqrstuvwxyz".slice(0, input.vocab);
  train(m, 5);
  const file = JSON.parse(JSON.stringify(e.save(m, characters)));
  const other = e.load(file, characters), theta = [...m.theta];
  train(m, 5);
  train(other, 5);
  const refused = (change) => {
    try { e.load(change(JSON.parse(JSON.stringify(file))), characters); }
    catch (error) { return error.message; }
  };
  return { file, theta, same: m.theta.every((x, i) => x === other.theta[i]), refused: [
    refused(() => null), refused((f) => ({ ...f, characters: "abc" })),
    refused((f) => ({ ...f, config: { ...f.config, width: 32 } })),
    refused((f) => ({ ...f, step: -1 })),
    refused((f) => { f.weights["final_norm.gamma"] = f.m["token_embedding.weight"];
      return f; }),
    refused((f) => { delete f.v; return f; }),
  ] };
})()"""


def test_a_loaded_run_goes_on_as_if_it_was_never_interrupted():
    assert engine(SAVED, run_given())["same"]


def test_a_saved_model_is_one_of_the_package():
    found = engine(SAVED, run_given())
    file = found["file"]
    state = {
        name: torch.from_numpy(np.frombuffer(base64.b64decode(data), "<f8").copy()).view(
            file["shapes"][name]
        )
        for name, data in file["weights"].items()
    }
    model = gpt("small", np.zeros(len(found["theta"])), file["config"]["vocab"])
    left = model.load_state_dict(state, strict=False)
    assert left.missing_keys == ["head.weight"]  # tied to the embedding
    assert not left.unexpected_keys
    assert torch.cat([p.detach().flatten() for p in own(model)]).tolist() == found["theta"]


SCHEDULES = [
    ([], 0, True), ([[0, 0.02]], 5, True), ([[0, 0.02], [3, 0.06]], 5, True),
    (None, 0, False), ([], 5, False), ([[1, 0.02]], 5, False),
    ([[0, 0.02], [5, 0.06]], 5, False),
    ([[0, 0.02], [0, 0.06]], 5, False), ([[0, "x"]], 5, False), ([[0, -1]], 5, False),
]  # fmt: skip


def test_a_saved_run_says_its_step_sizes():
    assert engine(SAVED, run_given())["file"]["rates"] == [[0, 0.02]]
    given = [pair[:2] for pair in SCHEDULES]
    assert engine("input.map((x) => e.isSchedule(...x))", given) == [s[2] for s in SCHEDULES]


def test_a_file_of_another_kind_is_refused_in_words():
    for said in engine(SAVED, run_given())["refused"]:
        assert said
        assert said.endswith(".")


# --- the text ---------------------------------------------------


def test_the_text_is_the_one_of_the_plays_and_small():
    text = tool.text()
    assert tool.TEXT.read_text(encoding="utf-8") == script("text", text)
    assert tool.TEXT.stat().st_size <= 60_500
    assert set(text["heldOut"]) <= set(text["training"])  # no character is unknown
    assert text["heldOut"][:60] not in text["training"]
    program = "[e.alphabet(input), [...e.encode('Romeo', e.alphabet(input))]]"
    alphabet, romeo = engine(program, text["training"])
    assert list(alphabet) == sorted(set(text["training"]))
    assert [alphabet[i] for i in romeo] == list("Romeo")


# --- the panel --------------------------------------------------

SERVED = """
const words = { training: input.text, heldOut: input.text.slice(0, 70) }, heard = [];
const take = panel.serve(engine, words, (message) => {
  heard.push(message);
  input.on?.[message.kind]?.forEach(take);
});
input.messages.forEach(take);
process.once("beforeExit", () => print(heard));
"""


def served(*messages, text=TEXT * 4, on=None):
    """What the worker answers; ``on`` has messages that it gets while it works."""
    given = {"text": text, "messages": [BEGIN, *messages], "on": on}
    program = f"const input = JSON.parse(require('fs').readFileSync(0, 'utf8'));{SERVED}"
    return tool.node(program, given)


BEGIN = {"kind": "begin", "size": "small", "seed": 3}
GO = {"kind": "run", "rate": 0.02, "until": 4}


def losses(heard):
    return [message["nats"] for message in heard if message["kind"] == "step"]


def test_the_worker_trains_as_the_engine_does():
    heard = served(GO)
    given = {**run_given(), "text": [sorted(set(TEXT)).index(c) for c in TEXT * 4]}
    assert losses(heard) == engine(RUN, given)["losses"][:4]
    assert [m["kind"] for m in heard] == ["ready", "begun", *["step"] * 4, "paused"]
    ready, begun = heard[:2]
    assert begun["parameters"] == ready["sizes"]["small"] == 6336  # 23 characters


def test_a_run_begun_again_is_the_same_and_a_pause_ends_it():
    assert losses(served(GO, BEGIN, GO))[-4:] == losses(served(GO))
    stopped = served(GO, on={"step": [{"kind": "pause"}]})
    assert len(losses(stopped)) == 1
    assert [m["kind"] for m in stopped].count("paused") == 1


def test_a_change_of_the_step_size_counts_from_the_next_step_on():
    plain = losses(served(GO))
    changed = losses(served(GO, on={"step": [{"kind": "rate", "rate": 0.06}]}))
    assert plain[:2] == changed[:2]
    assert plain[2] != changed[2]


def ended(heard):
    return [message for message in heard if message["kind"] == "paused"][-1]


def test_a_run_of_a_link_is_the_run_that_it_was_made_from():
    one = {"kind": "one", "rate": 0.06}
    go_on = {"kind": "run", "rate": 0.006, "until": 8}
    by_hand = served(one, one, {**one, "rate": 0.02}, go_on)
    rates = [[0, 0.06], [2, 0.02], [3, 0.006]]
    assert ended(by_hand)["rates"] == rates
    again = {"kind": "run", "rate": 0.06, "later": rates[1:], "until": 8}
    assert losses(served(again)) == losses(by_hand)
    assert ended(served(again)) == ended(by_hand)
    assert losses(served({**again, "later": []}))[3:] != losses(by_hand)[3:]


def test_a_change_during_a_run_of_a_link_counts_and_ends_its_step_sizes():
    again = {"kind": "run", "rate": 0.02, "later": [[3, 0.06]], "until": 5}
    changed = served(again, on={"step": [{"kind": "rate", "rate": 0.002}]})
    assert ended(changed)["rates"] == [[0, 0.02], [1, 0.002]]
    file = served({"kind": "one", "rate": 0.02}, {"kind": "save"})[-1]["file"]
    resumed = served({"kind": "load", "file": file}, {"kind": "one", "rate": 0.06})
    assert ended(resumed)["rates"] == [[0, 0.02], [1, 0.06]]
    del file["rates"]  # a file of the version before
    assert ended(served({"kind": "load", "file": file}, GO))["rates"] is None


RUNS = [
    {"size": "full", "seed": 0, "rates": [], "steps": 0},
    {"size": "small", "seed": 2**32 - 1, "rates": [[0, 0.0006], [7, 0.06]], "steps": 450},
]
NONSENSE = [
    "", "n=huge&s=1&d=0", "n=full&s=-1&d=0", "n=full&s=4294967296&d=0",
    "n=full&s=1&d=1e9&r=0-0.006", "n=full&s=1&d=5", "n=full&s=1&d=0&r=0-0.006",
    "n=full&s=1&d=5&r=1-0.006", "n=full&s=1&d=5&r=0-0.5", "n=full&s=1&d=5&r=0-x",
    "n=full&s=1&d=5&r=0-0.006_9-0.02",
]  # fmt: skip


def test_a_link_holds_a_run_and_says_where_it_holds_none():
    both = "(run) => [panel.toLink(run), panel.fromLink(panel.toLink(run))]"
    program = f"print({json.dumps(RUNS)}.map({both}));"
    for run, (link, back) in zip(RUNS, tool.node(program), strict=True):
        assert back == run
        assert re.fullmatch(r"#train:[\w=&.-]+", link)  # no program breaks it in two
    assert tool.node(f"print(panel.toLink({json.dumps(RUNS[1])}));") == (
        "#train:n=small&s=4294967295&d=450&r=0-0.0006_7-0.06"
    )
    links = [*("#train:" + text for text in NONSENSE), "#text", ""]
    said = tool.node(f"print({json.dumps(links)}.map(panel.fromLink));")
    assert said == ["The link holds no run that this page knows."] * len(NONSENSE) + [None] * 2


def test_one_step_and_a_saved_model_that_is_loaded():
    one = {"kind": "one", "rate": 0.02}
    heard = served(one, one, {"kind": "save"}, one)
    (file,) = (m["file"] for m in heard if m["kind"] == "saved")
    resumed = served({"kind": "load", "file": file}, one)
    assert losses(resumed)[-1] == losses(heard)[-1]
    (refused,) = [m for m in served({"kind": "load", "file": {}}) if m["kind"] == "refused"]
    assert refused["why"].endswith(".")


def test_the_gradients_of_a_text_and_the_differences():
    name = "blocks.1.attention.W_q.weight"
    heard = served(
        {"kind": "gradients", "words": "To be, or §not"},
        {"kind": "entries", "name": name},
        {"kind": "probe", "name": name, "index": 17},
    )
    gradients, entries, probed = heard[2:]
    assert (
        gradients["words"] == "To be, or not"
    )  # a character that it does not know is left out
    theta = engine("[...e.start({ ...e.SIZES.small, vocab: 23 }, 3).theta]")
    characters = sorted(set(TEXT))
    model = gpt("small", theta, len(characters))
    ids = [characters.index(c) for c in gradients["words"]]
    loss = loss_of(model, ids[:-1], ids[1:], 1)
    loss.backward()
    assert gradients["loss"] == pytest.approx(loss.item(), rel=LIMIT)
    for n, p in model.named_parameters():
        assert gradients["arrays"][n]["norm"] == pytest.approx(p.grad.norm().item(), rel=LIMIT)
        assert gradients["arrays"][n]["size"] == pytest.approx(p.norm().item(), rel=LIMIT)
    grad = model.get_parameter(name).grad.flatten()
    assert relative(list(entries["values"].values()), grad) <= LIMIT
    assert probed["hand"] == pytest.approx(grad[17].item(), rel=1e-8)
    errors = [abs(d / probed["hand"] - 1) for h, d in probed["tried"] if 1e-7 < h < 1e-3]
    assert min(errors) < 1e-5


def test_the_gradients_of_one_prediction():
    words = "To be, or not"
    found = served({"kind": "gradients", "words": words, "at": 4})[-1]
    characters = sorted(set(TEXT))
    theta = engine("[...e.start({ ...e.SIZES.small, vocab: 23 }, 3).theta]")
    model = gpt("small", theta, len(characters))
    ids = torch.tensor([[characters.index(c) for c in words]])
    loss = -model(ids[:, :-1])[0, 4].log_softmax(-1)[ids[0, 5]]
    loss.backward()
    assert found["at"] == 4
    assert found["loss"] == pytest.approx(loss.item(), rel=LIMIT)
    for n, p in model.named_parameters():
        assert found["arrays"][n]["norm"] == pytest.approx(p.grad.norm().item(), rel=LIMIT)
    beyond = served({"kind": "gradients", "words": words, "at": 40})[-1]
    assert beyond["at"] is None  # the text has no such position: all of them


SHOWN = {
    "words": "O, 'be' & a=b (50 %)", "size": "small", "steps": 50, "at": 3,
    "array": "blocks.0.attention.W_k.weight", "index": 17, "measure": "entry",
}  # fmt: skip


@pytest.mark.parametrize("more", [{}, {"at": None}, {"steps": 0, "index": 0, "at": 0}])
def test_a_link_holds_the_gradients(more):
    state = SHOWN | more
    both = "[panel.toGradients(input), panel.fromGradients(panel.toGradients(input))]"
    program = f"const input = {json.dumps(state)}; print({both});"
    link, back = tool.node(program)
    assert back == state
    assert re.fullmatch(r"#gradients:[\w=&.%-]+", link)


def test_a_link_without_gradients_says_so():
    good = "p=be&n=full&d=50&a=final_norm.gamma&i=0&m=norm"
    bad = [
        "",
        good.replace("full", "huge"),
        good.replace("50", "1e9"),
        good.replace("norm.", "<"),
    ]
    bad += [good.replace("p=be", "p=%"), good.replace("m=norm", "m=size"), good + "&t=64"]
    links = ["#gradients:" + text for text in bad]
    found = tool.node(f"print({json.dumps([*links, '#text'])}.map(panel.fromGradients));")
    said = "The link holds no gradients that this page knows."
    assert found == [said] * len(bad) + [None]
    assert tool.node(f"print(panel.fromGradients('#gradients:{good}'));")["steps"] == 50


def test_one_score_has_no_gradient_at_all():
    """A softmax over one key is 1 whatever the score: what a page asks the reader to find."""
    arrays = served({"kind": "gradients", "words": "be"})[-1]["arrays"]
    zero = {name for name, array in arrays.items() if array["norm"] == 0}
    kinds = "blocks.{}.attention.W_q.weight", "blocks.{}.attention.W_k.weight"
    assert zero == {kind.format(layer) for layer in (0, 1) for kind in kinds}
    assert served({"kind": "gradients", "words": "b"})[-1]["kind"] == "short"


def test_numbers_as_the_page_writes_them():
    numbers = [0, 0.25, -2, 99.99, 1234, 1e-5, -3.21e-9, None]
    shown = tool.node("print(INPUT.map((x) => panel.number(x ?? Infinity, 2)));".replace(
        "INPUT", json.dumps(numbers)))  # fmt: skip
    plain = [x.replace("\u00a0", " ") for x in shown]
    assert plain[:4] == ["0", "0.25", "−2.0", "1.0 × 10²"]
    assert plain[4:] == ["1.2 × 10³", "1.0 × 10⁻⁵", "−3.2 × 10⁻⁹", "too large"]


def test_a_curve_with_fewer_points_keeps_the_mean():
    points = [[i, float(i % 7)] for i in range(700)]
    thin = tool.node(f"print(panel.thinned({json.dumps(points)}, 100));")
    assert len(thin) == 100
    assert np.mean(thin, axis=0) == pytest.approx(np.mean(points, axis=0))


# --- the record and its pictures --------------------------------


@pytest.fixture(scope="module")
def record():
    return json.loads(tool.RECORD.read_text(encoding="utf-8"))


def test_the_record_is_what_the_engine_computes(record):
    """Its first steps and the evaluation before them; all of it is made by the tool."""
    program = tool.TRAIN.replace("panel.AHEAD", "2")
    found = tool.rounded(tool.node(program))
    assert found["losses"] == record["losses"][:2]
    assert found["judged"] == record["judged"][:1]
    assert found["samples"] == record["samples"][:1]
    for part in ("counted", "parameters", "gradients"):
        assert found[part] == record[part]


def test_what_the_page_says_of_the_record(record):
    ends = dict(map(tuple, record["ends"]))
    assert record["judged"][-1][1] == ends[0.006] < 2.3
    assert ends[0.006] < min(ends.values()) + 0.03
    pairs = record["counted"]["pairs"]
    assert ends[0.0006] < pairs < ends[0.06]
    assert ends[0.0006] > ends[0.006] + 0.1
    assert abs(record["parameters"] - 50_000) < 1000


@pytest.mark.parametrize("page", ["19-pretraining", "16-transformer-backward"])
def test_the_pages_hold_the_pictures_of_the_record(record, page):
    nb = json.loads((tool.ROOT / "book" / f"{page}.ipynb").read_text(encoding="utf-8"))
    found = [c for c in nb["cells"] if "data-train" in (s := "".join(c["source"])) and s]
    (cell,) = found
    before, html, after = re.split(
        r"(<section.*</section>)", "".join(cell["source"]), flags=re.DOTALL
    )
    assert html == tool.sections(record)[page]
    assert "\n\n" not in html  # it would end the HTML in Markdown
    assert len(before) > 100
    assert "Something to try" in after


# --- in a browser, from files, without a network ----------------

# Opens the component and trains three steps. The page counts as loading, and so is not printed,
# while one script after another is put into it.
WAIT = """
<script>
const root = document.querySelector("[data-train]"), last = Date.now() + 120000;
const one = (name) => root.querySelector(`[data-name="${name}"]`);
const done = { training: () => root.dataset.step === "3", gradients: () => root.dataset.error };
const wait = () => {
  if (!root.querySelector(".train-panel")) root.querySelector(".train-start").click();
  else if (root.dataset.train === "training" && root.dataset.heldOut && !done.training()) {
    if (!one("one").disabled && root.dataset.asked !== root.dataset.step) {
      root.dataset.asked = root.dataset.step;
      one("one").click();
    }
  }
  if (done[root.dataset.train]() || Date.now() > last) return;
  const next = document.createElement("script");
  next.src = "wait.js";
  next.onload = () => { next.remove(); wait(); };
  document.head.append(next);
};
addEventListener("DOMContentLoaded", wait);
</script>
"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="chromium is not installed")
@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("19-pretraining", ""),
        ("16-transformer-backward", ""),
        (
            "16-transformer-backward",
            "#gradients:p=to%20be&n=small&d=2&t=3&a=final_norm.gamma&i=5&m=entry",
        ),
    ],
)
def test_in_a_browser_from_a_file(record, page, link, tmp_path):
    shutil.copytree(tool.LIVE, tmp_path / "_static" / "live")
    path = tmp_path / "book" / "page.html"
    path.parent.mkdir()
    (path.parent / "wait.js").write_text("0;")
    html = tool.sections(record)[page]
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{html}{WAIT}", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/p"]
    done = subprocess.run(
        [BROWSER, *options, "--dump-dom", path.as_uri() + link],
        capture_output=True, timeout=240, check=True,
    ).stdout.decode()  # fmt: skip
    (root,) = re.findall(r"<section[^>]*>", done)
    if link:
        assert 'data-step="2"' in root
        assert "for the character after position 3 of “to be”" in done
        assert 'data-array="final_norm.gamma" aria-pressed="true"' in done
        assert re.search(r'style="top: 0%[^"]*left: 31\.25%', done)  # the entry: 5 of 16
    if page.startswith("19"):
        assert float(re.search(r'data-held-out="([^"]+)"', root)[1]) > 4
        assert 'data-step="3"' in root
    else:
        assert float(re.search(r'data-error="([^"]+)"', root)[1]) < 1e-6


def test_what_is_fetched_is_within_its_budget():
    def packed(*paths):
        return len(gzip.compress(b"".join(p.read_bytes() for p in paths), mtime=0))

    assert packed(tool.ENGINE) <= 8_000
    assert packed(tool.PANEL, tool.LIVE / "train.css") <= 16_000
    assert packed(tool.TEXT) <= 26_000

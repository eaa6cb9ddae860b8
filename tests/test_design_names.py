"""The names that chapters, recipes and other people's code rely on, with their arguments."""

import inspect
from importlib import import_module

import numpy as np
import pytest
from sources import LAB, expect_nothing

CELLS = ("rnn_cell", "lstm_cell", "gru_cell")
PAIRS = (
    "layer_norm", "rms_norm", "linear", "embedding", "gelu", "silu", "swiglu",
    "multi_head_attention", "dot_product_attention", *CELLS,
)  # fmt: skip
CONFIG = (
    "*, vocab_size, context, d_model, n_layers, n_heads, n_kv_heads=None, d_head=None, "
    "d_ff=None, norm, norm_eps, activation, position, rope_base, window=None, qk_norm, bias, "
    "tie_embeddings, dropout"
)
NAMES = {
    "reference.softmax": "z, temperature=1.0, axis=-1",
    "reference.log_softmax": "z",
    "reference.logsumexp": "z",
    "reference.entropy": "p",
    "reference.cross_entropy": "p, q",
    "reference.kl_divergence": "p, q",
    "reference.js_divergence": "p, q",
    "reference.layer_norm": "x, gamma, beta, eps=1e-5",
    "reference.layer_norm_backward": "dy, cache",
    "reference.dot_product_attention": "q, k, v, mask=None",
    "reference.dot_product_attention_backward": "dy, cache",
    "reference.TransformerConfig": "",
    "reference.Transformer": "config, rng",
    "reference.Transformer.loss": "self, source, target",
    "reference.Transformer.backward": "self, cache",
    "reference.numerical_gradient": "f, x",
    "reference.numerical_vjp": "f, x, dy",
    "text.ByteBPE.train": "texts, vocab_size, special=()",
    "text.ByteBPE.encode": "self, text, allowed_special=()",
    "text.ByteBPE.decode": "self, ids",
    "text.ByteBPE.save": "self, path",
    "text.ByteBPE.load": "path",
    "text.ByteBPE.from_gpt2": "folder",
    "text.ByteBPE.from_gguf": "path",
    "text.WordPiece.load": "path",
    "text.corpus.load": "name",
    "text.corpus.available": "",
    "models.GPTConfig": CONFIG,
    "models.GPT": "config",
    "models.GPT.forward": "self, ids, *, mask=None, positions=None, cache=None, taps=None",
    "models.GPT.from_pretrained": "path",
    "models.BertConfig": "",
    "models.Bert": "config",
    "models.TransformerConfig": "",
    "models.Transformer": "config",
    "models.Recurrent": "",
    "models.SkipGram": "",
    "optim.SGD": "",
    "optim.RMSProp": "",
    "optim.Adam": "",
    "optim.AdamW": "",
    "optim.Muon": "",
    "optim.warmup_cosine": "",
    "optim.noam": "",
    "train.TrainerConfig": "",
    "train.Trainer": "model, objective, data, optimizer, config",
    "train.Trainer.fit": "self",
    "train.save_checkpoint": "",
    "train.load_checkpoint": "",
    "generate.generate": "model, ids, max_new_tokens, temperature=1.0, top_k=None, top_p=None, "
    "seed=None, cache=True",
    "generate.beam_search": "",
    "generate.speculative_generate": "",
    "adapt.add_lora": "model, rank, alpha, targets",
    "adapt.merge_lora": "model",
    "adapt.unmerge_lora": "model",
    "adapt.add_adapters": "",
    "adapt.add_prefix": "",
    "align.bradley_terry_loss": "reward_chosen, reward_rejected",
    "align.RewardModel": "",
    "align.implicit_reward": "logp, logp_ref, beta",
    "align.dpo_loss": "reward_chosen, reward_rejected, label_smoothing=0.0",
    "align.ipo_loss": "reward_chosen, reward_rejected, beta",
    "align.kto_loss": "",
    "align.orpo_loss": "",
    "align.simpo_loss": "",
    "align.kl_k1": "logp, logp_ref",
    "align.kl_k2": "logp, logp_ref",
    "align.kl_k3": "logp, logp_ref",
    "align.gae": "rewards, values, gamma, lam, last_value=0.0, mask=None",
    "align.group_advantages": "rewards",
    "align.ppo_loss": "logp, logp_old, advantages, clip=0.2",
    "align.grpo_loss": "",
    "align.exact.World": "",
    "align.exact.World.optimum": "self, beta",
    "interpret.record": "model, ids",
    "interpret.logit_lens": "model, ids",
    "interpret.patch": "",
    "interpret.linear_probe": "",
    "interpret.induction_score": "",
    "interpret.SparseAutoencoder": "",
    "scaling.count_parameters": "config",
    "scaling.flops_per_token": "",
    "scaling.training_memory": "",
    "scaling.kv_cache_bytes": "",
    "scaling.fit_power_law": "x, y",
    "scaling.fit_chinchilla": "n, d, loss",
    "scaling.optimal_allocation": "compute, fit",
    "claims.check": "id, computed, *, printed, corrected, tol, claim, why, kind, severity",
    "claims.remark": "id, *, corrected, claim, why, kind, severity",
    "show.show": "",
}


def found(name):
    """What stands under a name of the package, such as ``text.ByteBPE.train``."""
    layer, *parts = name.split(".")
    value = import_module(f"mathlm.{layer}")
    for part in parts:
        value = getattr(value, part)
    return value


def arguments(written):
    """Name and default of each argument, in order; those behind a star apart."""
    together, _, apart = f"{written}, ".partition("*, ")
    cut = [
        [part.partition("=")[::2] for part in text.split(", ") if part]
        for text in (together, apart)
    ]
    return [[(name, default or None) for name, default in part] for part in cut]


def departures(name):
    """How the arguments of a name differ from those that others give it."""
    own = inspect.signature(found(name)).parameters
    together, apart = arguments(NAMES[name])
    if list(own)[: len(together)] != [argument for argument, _ in together]:
        yield f"{name} has the arguments {list(own)}"
    for argument, default in together + apart:
        if default is not None and own[argument].default != eval(default):
            yield f"{name} has {argument}={own[argument].default}, not {default}"
    others = [own[n] for n in own if n not in dict(together + apart)]
    given = [p for p in others if NAMES[name] and p.kind is not p.VAR_KEYWORD]
    needed = [p.name for p in given if p.default is p.empty]
    yield from (f"{name} cannot be called without {argument}" for argument in needed)


def test_a_name_has_the_arguments_that_others_give_it():
    """In this order and with these defaults; whatever else there is may be left out."""
    expect_nothing(fault for name in NAMES for fault in departures(name))


def test_a_function_of_the_reference_has_its_way_back_beside_it():
    back = {n: inspect.signature(found(f"reference.{n}_backward")).parameters for n in PAIRS}
    expect_nothing(f"{n}: {[*own]}" for n, own in back.items() if [*own] != ["dy", "cache"])
    assert all(callable(found(f"reference.{name}")) for name in PAIRS)


def test_fits_have_the_fields_that_others_read():
    """3 x by two decades; and the laws say A, B, E, alpha, beta and the sum of Huber losses."""
    x = 10.0 ** np.linspace(0, 2, 9)
    line = found("scaling.fit_power_law")(x, 3 * x)
    assert (line.coefficient, line.exponent) == (pytest.approx(3), pytest.approx(1))
    assert len(line.interval) == 2
    law = inspect.get_annotations(found("scaling.ChinchillaLaw"))
    assert {"A", "B", "E", "alpha", "beta", "huber"} <= set(law)


def test_every_figure_that_moves_is_a_demo_by_name():
    pages = [path.parent.name for path in LAB.glob("*/demos.py")]
    names = {page: import_module(f"lab.{page}.plot").__all__ for page in pages}
    assert [p for p in pages if not any(n.endswith("_demo") for n in names[p])] == []
    assert len(pages) > 20

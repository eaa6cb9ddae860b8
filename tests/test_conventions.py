"""The conventions of the book: properties read from the page of conventions, and broken."""

import ast
import math
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from lab.conventions import differences
from lab.conventions.label_shift import shift_labels
from mathlm import align, functional, optim, scaling, text, train
from mathlm import reference as ref
from mathlm.models import GPTConfig

NOTEBOOK = Path(__file__).resolve().parents[1] / "book" / "04-conventions.ipynb"
NAMES = {
    "np": np,
    "math": math,
    "torch": torch,
    "F": F,
    "FlopCounterMode": FlopCounterMode,
    "functional": functional,
    "ref": ref,
    "TokenWindows": train.TokenWindows,
    "GPTConfig": GPTConfig,
    "align": align,
    "differences": differences,
    "forward_flops": scaling.forward_flops,
    "learn_merges": text.learn_merges,
    "optim": optim,
}


def functions():
    """Every function that the page defines with one argument, the generator."""
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    sources = [cell.source for cell in cells if cell.cell_type == "code"]
    trees = [ast.parse(source) for source in sources if "%pip" not in source]
    defined = [
        node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)
    ]
    return {node.name: node for node in defined}


def is_property(node):
    names = [argument.arg for argument in node.args.args]
    return names == ["rng"] and node.args.vararg is None


PROPERTIES = [name for name, node in functions().items() if is_property(node)]
PROPERTIES.remove("products_commute")  # the page's example of a false one


def namespace(**broken):
    """The page's functions, on top of ``NAMES`` of which some may be broken."""
    found = {**NAMES, **broken}
    code = ast.Module(list(functions().values()), type_ignores=[])
    exec(compile(code, str(NOTEBOOK), "exec"), found)
    return found


def holds(name, seeds, **broken):
    check = namespace(**broken)[name]
    return all(check(np.random.default_rng(seed)) for seed in range(seeds))


def with_changes(module, **changes):
    """A copy of the module's names, some of them changed."""
    return SimpleNamespace(**{**vars(module), **changes})


def inputs_by_outputs(x, W, b=None):
    """A layer whose weight is stored as (inputs, outputs)."""
    return x @ W + (0 if b is None else b), None


class SameToken(train.TokenWindows):
    """Labels that are not shifted."""

    def batch(self, index):
        batch = super().batch(index)
        return {**batch, "targets": batch["ids"]}


class TwoAhead(train.TokenWindows):
    """Labels that are shifted by two."""

    def batch(self, index):
        return shift_labels(super().batch(index), 2)


class Forgetful(train.TokenWindows):
    """Batches that depend on how many were asked for before."""

    asked = 0

    def __call__(self, step):
        self.asked += 1
        return super().__call__(self.asked)


class WithReplacement(train.TokenWindows):
    """Windows drawn anew at each step."""

    def __call__(self, step):
        rng = np.random.default_rng([self.seed, step])
        return self.batch(rng.integers(self.windows, size=self.batch_size))


class HalfCounter(FlopCounterMode):
    """A multiply-add counted once."""

    def get_total_flops(self):
        return super().get_total_flops() // 2


def unaligned(T, S):
    return torch.ones(T, S, dtype=torch.bool).tril()


def inverted(q, k, v, mask=None):
    return functional.dot_product_attention(q, k, v, None if mask is None else ~mask)


def mean_over_heads(q, k, v, mask=None):
    y = functional.dot_product_attention(q, k, v, mask)
    return y + y.mean(tuple(range(y.ndim - 2)), keepdim=True)


def mean_loss(logits, targets):
    total, count = functional.cross_entropy(logits, targets)
    return total / count, count


def unbiased_layer_norm(x, gamma, beta, eps):
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True, ddof=1), None


def positions_from_one(length, width):
    cos, sin = functional.rotary_table(length + 1, width)
    return cos[1:], sin[1:]


def cosines_first(length, width):
    return functional.sinusoidal_table(length, width).roll(1, -1)


def halves_by_a_table_for_neighbors(x, cos, sin):
    """Features paired by halves, angles laid out for neighbors: the usual mix of the two."""
    cos, sin = cos.repeat_interleave(2, -1), sin.repeat_interleave(2, -1)
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def transposed_gradient(dy, cache):
    dx, dW = ref.linear_backward(dy, cache)
    return dx, dW.T


def rise_from_zero(peak, warmup, steps):
    then = optim.warmup_cosine(peak, warmup, steps)
    return lambda t: peak * differences.from_zero(t, warmup) if t < warmup else then(t)


def early_epsilon(params, lr, eps, weight_decay):
    return optim.AdamEpsilonHat(params, lr=lr, eps=eps)


def half_the_pairs(config, tokens):
    hidden = tokens * (tokens - 1) // 2
    return scaling.forward_flops(config, tokens) - 4 * hidden * config.d_model


def mean_reward(logp, logp_ref, beta):
    return align.implicit_reward(logp.mean(), logp_ref.mean(), beta)


def align_with(**changes):
    return {"align": with_changes(align, **changes)}


def optim_with(**changes):
    return {"optim": with_changes(optim, **changes)}


def greatest_first(words, n_merges):
    return text.learn_merges(words, n_merges, ties="greatest")


def numpy_with(**changes):
    return {"ref": with_changes(ref, **changes)}


def torch_with(**changes):
    return {"functional": with_changes(functional, **changes)}


BREAKS = [  # a property, and what breaks its convention
    ("leading_axes_only_repeat", torch_with(dot_product_attention=mean_over_heads)),
    ("rows_are_columns_lying_down", numpy_with(linear=inputs_by_outputs)),
    ("two_layers_are_one", numpy_with(linear=inputs_by_outputs)),
    (
        "gradients_have_the_shape_of_their_variable",
        numpy_with(linear_backward=transposed_gradient),
    ),
    ("variance_divides_by_n", numpy_with(layer_norm=unbiased_layer_norm)),
    ("entropy_is_in_nats", numpy_with(entropy=lambda p: ref.entropy(p) / math.log(2))),
    (
        "kl_averages_under_its_first_argument",
        numpy_with(kl_divergence=lambda p, q: ref.kl_divergence(q, p)),
    ),
    ("a_multiply_add_is_two_flop", {"FlopCounterMode": HalfCounter}),
    ("true_means_may_attend", torch_with(dot_product_attention=inverted)),
    ("the_last_query_sees_the_last_key", torch_with(causal_mask=unaligned)),
    ("labels_are_the_next_tokens", {"TokenWindows": SameToken}),
    ("labels_are_the_next_tokens", {"TokenWindows": TwoAhead}),
    ("the_split_does_not_matter", torch_with(cross_entropy=mean_loss)),
    ("position_zero_is_the_origin", torch_with(rotary_table=positions_from_one)),
    ("position_zero_is_the_origin", torch_with(sinusoidal_table=cosines_first)),
    (
        "the_pairings_differ_by_an_order",
        torch_with(rotate_half_split=functional.rotate_interleaved),
    ),
    ("the_pairings_differ_by_an_order", torch_with(half_split_order=torch.arange)),
    (
        "scores_depend_on_the_distance",
        torch_with(rotate_half_split=halves_by_a_table_for_neighbors),
    ),
    ("a_batch_depends_on_seed_and_step_alone", {"TokenWindows": Forgetful}),
    ("an_epoch_reads_each_window_once", {"TokenWindows": WithReplacement}),
    ("ties_go_to_the_least_bytes", {"learn_merges": greatest_first}),
    ("gelu_is_exact", torch_with(gelu=functional.gelu_tanh)),
    ("gelu_is_exact", torch_with(gelu_tanh=functional.gelu)),
    (
        "repeating_an_answer_changes_only_the_mean_over_tokens",
        align_with(token_mean=align.sequence_mean),
    ),
    (
        "repeating_an_answer_changes_only_the_mean_over_tokens",
        align_with(sequence_mean=align.token_mean),
    ),
    (
        "the_first_step_moves_and_the_rise_ends_at_the_peak",
        optim_with(warmup_cosine=rise_from_zero),
    ),
    ("epsilon_comes_after_the_bias_correction", optim_with(AdamW=early_epsilon)),
    (
        "a_clipped_gradient_has_the_largest_norm_allowed",
        optim_with(clip_grad_norm=torch.nn.utils.clip_grad_norm_),
    ),
    (
        "a_group_has_the_spread_of_a_population",
        align_with(group_advantages=partial(align.group_advantages, correction=1)),
    ),
    ("rewards_of_dpo_are_sums", align_with(implicit_reward=mean_reward)),
    (
        "the_scale_of_lora_is_alpha_over_rank",
        torch_with(lora_scale=lambda r, alpha, rank_stabilized=False: alpha),
    ),
    ("hidden_pairs_are_counted", {"forward_flops": half_the_pairs}),
]


@pytest.mark.parametrize("name", PROPERTIES)
def test_each_property_holds(name):
    assert holds(name, seeds=300)


@pytest.mark.parametrize(("name", "broken"), BREAKS)
def test_each_property_fails_when_its_convention_is_broken(name, broken):
    assert not holds(name, seeds=20, **broken)


def test_each_property_is_broken_at_least_once():
    assert {name for name, _ in BREAKS} == set(PROPERTIES)


def test_the_false_property_of_the_page_is_false():
    assert not holds("products_commute", seeds=20)


def test_the_growth_of_a_block_is_what_the_counter_counts():
    """Layers: 2 FLOP x 12 T D²; scores and mixing: 2 FLOP x 2 T² D."""
    layers, scores = namespace()["block_parts"](7, 5)
    x, W = torch.randn(7, 5), torch.randn(12 * 5, 5)
    with FlopCounterMode(display=False) as counter:
        _ = x @ W.T  # twelve D x D matrices
    assert counter.get_total_flops() == 2 * layers
    with FlopCounterMode(display=False) as counter:
        _ = (x @ x.T) @ x
    assert counter.get_total_flops() == 2 * scores


def test_rows_and_columns_of_a_matrix_have_two_names(rng):
    A = rng.normal(size=(3, 5))
    assert A[1, :].shape == (5,)
    assert A[:, 1].shape == (3,)
    assert A[2, :][4] == A[:, 4][2] == A[2, 4]

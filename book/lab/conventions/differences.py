"""Where libraries, courses and papers differ: each rule as a function, run on a small example.

What is installed with the book (torch, tokenizers) is called. What is not (transformers, trl,
the programs of courses) is written out here as a rule, with the place that it was read in;
``tests/lab/conventions/test_differences.py`` compares these rules with the libraries.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as tnf

from mathlm import align, functional, optim
from mathlm.models import GPTConfig
from mathlm.scaling import forward_flops
from mathlm.text import learn_merges
from mathlm.text.tokenizers.bpe import count_pairs

WHO = ("mathlm", "torch", "transformers", "trl", "courses and papers")


@dataclass(frozen=True)
class Difference:
    """One line of the table.

    Args:
        name: What differs.
        section: Anchor of the section that derives it.
        example: The example, as Markdown.
        values: From one of ``WHO`` to the value that it gives, as Markdown.
        other: How to get the other convention out of mathlm.
    """

    name: str
    section: str
    example: str
    values: Mapping[str, str]
    other: str

    def cells(self) -> list[str]:
        """The line, cell by cell; a dash where a library has no such rule."""
        values = [self.values.get(who, "–") for who in WHO]
        return [f"[{self.name}](#{self.section}): {self.example}", *values, self.other]


def number(x: float | Tensor, digits: int = 3) -> str:
    """A number with this many decimals and a true minus sign."""
    return f"{float(x):.{digits}f}".replace("-", "−")


# --- text ------------------------------------------------------------------------------------


def first_seen(words: Mapping[bytes, int]) -> tuple[int, int]:
    """The most frequent pair; of several, the one that the corpus shows first.

    ``max`` over a dict of counts, as karpathy/minbpe, ``minbpe/basic.py``, has it.
    """
    counts = count_pairs({tuple(word): n for word, n in words.items()})
    return max(counts, key=lambda pair: counts[pair])


def by_tokenizers(words: Mapping[bytes, int]) -> str:
    """First merge of the ``tokenizers`` library, which transformers trains with."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    letters = len({byte for word in words for byte in word})
    trainer = trainers.BpeTrainer(vocab_size=letters + 1, show_progress=False)
    corpus = [word.decode() for word, n in words.items() for _ in range(n)]
    tokenizer.train_from_iterator(corpus, trainer)
    return max(tokenizer.get_vocab(), key=len)


def ties_of_merges() -> Difference:
    """Which of several pairs that are equally frequent merges first."""
    words = {b"bc": 2, b"cd": 2, b"ab": 2}
    pairs = {ties: learn_merges(words, 1, ties)[0] for ties in ("least", "greatest")}
    ours, greatest, first = (
        bytes(pair).decode() for pair in (*pairs.values(), first_seen(words))
    )
    return Difference(
        "Ties of BPE",
        "ties-of-merges",
        "`bc`, `cd` and `ab` twice each; the first merge",
        {
            "mathlm": ours,
            "transformers": f"{by_tokenizers(words)}, oldest ids",
            "courses and papers": f"{greatest} (CS336); {first} (minbpe)",
        },
        '`learn_merges(..., ties="greatest")`, `"oldest"`; none for first seen',
    )


def padding() -> Difference:
    """On which side short sequences are filled, while they are continued."""
    lengths = (3, 1)
    left = [[t >= max(lengths) - n for t in range(max(lengths))] for n in lengths]
    right = [[t < n for t in range(max(lengths))] for n in lengths]
    shown = {name: _signs(rows[1]) for name, rows in (("left", left), ("right", right))}
    return Difference(
        "Padding",
        "padding",
        "prompts of 3 and 1 tokens; the second row, ● real",
        {
            "mathlm": f"{shown['left']} to generate; {shown['right']} to train",
            "torch": f"{shown['right']}, `pad_sequence`",
            "transformers": f"{shown['right']}, `padding_side`",
            "trl": f"{shown['left']} prompts; {shown['right']} completions",
        },
        "masks of either side are read; `generate_ragged` pads itself",
    )


def _signs(row: list[bool]) -> str:
    return "".join("●" if real else "○" for real in row)


def label_shift() -> Difference:
    """Who moves the labels: the data or the model."""
    text = torch.tensor([[5, 6, 7, 8]])
    targets = text[:, 1:]  # by the data
    again = targets[:, 1:]  # and once more by the model
    return Difference(
        "Labels",
        "labels",
        "text 5 6 7 8; what input 5 is asked for if the *data* moved the labels",
        {
            "mathlm": str(int(targets[0, 0])),
            "torch": str(int(targets[0, 0])),
            "transformers": f"{int(again[0, 0])}: `labels=` are moved by the model",
            "courses and papers": f"{int(targets[0, 0])} (nanoGPT, nanochat, CS336)",
        },
        "none: give transformers `labels=ids`",
    )


def windows() -> Difference:
    """Whether an epoch reads each window once, or draws with replacement."""
    N = 1000
    return Difference(
        "Windows",
        "windows",
        "share of 1,000 windows unread after 1,000 draws",
        {
            "mathlm": number(0),
            "torch": f"{number(0)}, `DataLoader(shuffle=True)`",
            "transformers": number(0),
            "courses and papers": f"{number(unread(N, N))} (nanoGPT, CS336: random offsets)",
        },
        "none: draw the index yourself, `windows.batch(rng.integers(...))`",
    )


def unread(windows: int, draws: int) -> float:
    """Expected share of windows never drawn, (1 - 1/N)ⁿ. karpathy/nanoGPT, train.py."""
    return (1 - 1 / windows) ** draws


# --- layers ----------------------------------------------------------------------------------


def conv1d(x: Tensor, W: Tensor) -> Tensor:
    """A layer of GPT-2: weights (inputs, outputs). transformers, ``pytorch_utils.Conv1D``."""
    return x @ W


def weight_layout() -> Difference:
    """Which axis of a weight is the output's."""
    x, W = torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    linear = [int(y) for y in tnf.linear(x, W)]
    other = [int(y) for y in conv1d(x, W)]
    return Difference(
        "Layout of a weight",
        "weights",
        "(1, 0) through [[1, 2], [3, 4]]",
        {
            "mathlm": str(tuple(linear)),
            "torch": str(tuple(linear)),
            "transformers": f"{tuple(linear)}; {tuple(other)} in GPT-2",
            "courses and papers": f"{tuple(linear)}; {tuple(other)} in JAX's `x @ W`",
        },
        "`W.T`; the loader of GPT-2's files does it",
    )


def mask_meaning() -> Difference:
    """What True says in a boolean mask."""
    mask = functional.causal_mask(3, 3)
    x = torch.ones(1, 3, 2)
    layer = nn.MultiheadAttention(2, 1, bias=False, batch_first=True)
    seen = int((layer(x, x, x, attn_mask=mask)[1][0, 0] > 0).sum())
    ours = str(int(mask[0].sum()))
    return Difference(
        "Boolean masks",
        "masks",
        "keys that query 0 of 3 sees under the lower triangle",
        {
            "mathlm": ours,
            "torch": f"{ours} (`scaled_dot_product_attention`); {seen} (`MultiheadAttention`)",
            "transformers": f"{ours}, as integers: 1 = real token",
            "trl": ours,
        },
        "`~mask`",
    )


def mask_alignment() -> Difference:
    """Where the causal mask lies if there are more keys than queries."""
    q, k, v = torch.zeros(1, 1, 2), torch.zeros(1, 3, 2), torch.eye(3)[None]
    first = int((tnf.scaled_dot_product_attention(q, k, v, is_causal=True) > 0).sum())
    last = int(functional.causal_mask(1, 3).sum())
    return Difference(
        "Causal mask with a cache",
        "causal-mask",
        "keys that 1 new query sees of 3",
        {
            "mathlm": str(last),
            "torch": f"{first}, `is_causal=True`",
            "transformers": str(last),
            "courses and papers": f"{last} (FlashAttention from 2.1 on); {first} (before)",
        },
        "`torch.ones(T, S).tril().bool()`",
    )


def rotary_pairs() -> Difference:
    """Which features a rotary embedding turns together."""
    x, turned = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    ways = functional.rotate_half_split, functional.rotate_interleaved, backwards
    half, inter, back = (
        "(" + ", ".join(number(y, 0) for y in way(x, *turned)) + ")" for way in ways
    )
    return Difference(
        "Rotary pairs",
        "rotary-pairs",
        "(1, 2, 3, 4), first pair turned by 90°",
        {
            "mathlm": half,
            "transformers": half,
            "courses and papers": f"{inter} (the paper, Llama's own files, CS336); "
            f"{half} (LLMs-from-scratch); {back} (nanochat: halves, turned backwards)",
        },
        "`rotate_interleaved`; weights by `half_split_order`",
    )


def backwards(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Halves turned the other way round; scores are the same. karpathy/nanochat, gpt.py."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos + b * sin, b * cos - a * sin), -1)


def quick_gelu(x: Tensor) -> Tensor:
    """Computes x σ(1.702 x). openai/CLIP, ``model.py``; transformers, ``"quick_gelu"``."""
    return x * torch.sigmoid(1.702 * x)


def gelu_forms() -> Difference:
    """Three functions of one name."""
    x = torch.tensor(-1.0, dtype=torch.float64)
    exact, tanh = number(functional.gelu(x), 5), number(functional.gelu_tanh(x), 5)
    return Difference(
        "GELU",
        "gelu",
        "at −1",
        {
            "mathlm": f"{exact} `gelu`",
            "torch": number(tnf.gelu(x), 5),
            "transformers": f"{exact} `gelu` (BERT); {tanh} `gelu_new` (GPT-2)",
            "courses and papers": f"{tanh} (GPT-2, LLMs-from-scratch, JAX); "
            f"{number(quick_gelu(x), 5)} (CLIP)",
        },
        "`gelu_tanh`; none for CLIP's",
    )


def tnf_variance(x: Tensor) -> Tensor:
    """What ``torch.nn.functional.layer_norm`` divides by, squared, for one row."""
    y = tnf.layer_norm(x, x.shape[-1:], eps=0.0)
    return ((x - x.mean()) / y)[0, 0].square()


def spread_of_numbers() -> Difference:
    """Division by n or n - 1."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.float64)
    y = functional.layer_norm(x, torch.ones(4).double(), torch.zeros(4).double(), 0.0)
    norm = ((x - x.mean()) / y)[0, 0].square()  # the variance that the norm divided by
    return Difference(
        "Variance",
        "variance",
        "of 1, 2, 3, 4",
        {
            "mathlm": number(norm, 2),
            "torch": f"{number(x.var(), 2)} `var`; {number(tnf_variance(x), 2)} `LayerNorm`",
            "transformers": number(norm, 2),
            "courses and papers": f"{number(np.var(x.numpy()), 2)} `numpy.var`; "
            f"{number(x.var(), 2)} in some hand-written norms",
        },
        "`torch.var(x)`",
    )


# --- losses ----------------------------------------------------------------------------------


def direction_of_kl() -> Difference:
    """Which of two arguments does the averaging."""
    p, q = torch.tensor([0.5, 0.5]).double(), torch.tensor([0.9, 0.1]).double()
    ours = (p * (p / q).log()).sum()
    as_read = tnf.kl_div(p.log(), q, reduction="sum")
    return Difference(
        "Order of a KL divergence",
        "divergence",
        "`kl(p, q)` of (0.5, 0.5) and (0.9, 0.1), nats",
        {
            "mathlm": number(ours, 4),
            "torch": f"{number(as_read, 4)}: `kl_div(log p, q)` is KL(q‖p)",
        },
        "exchange the arguments",
    )


def means_of_parts() -> Difference:
    """A mean over all targets, or a mean of the means of micro-batches or ranks."""
    sums, counts = torch.tensor([8.0, 5.0]), torch.tensor([4.0, 1.0])
    whole, of_means = number(sums.sum() / counts.sum(), 2), number((sums / counts).mean(), 2)
    return Difference(
        "Loss of several parts",
        "sums-and-counts",
        "4 targets that cost 8 nats, 1 that costs 5",
        {
            "mathlm": whole,
            "torch": f"{of_means}: `DistributedDataParallel`, `loss / steps`",
            "transformers": f"{whole} (`num_items_in_batch`); {of_means} before 4.46",
            "trl": f"{whole} in SFT",
            "courses and papers": f"{of_means} (nanoGPT, nanochat; equal counts there)",
        },
        "none",
    )


def means_of_texts() -> Difference:
    """Every token, every sequence, or every sequence over one length."""
    loss = torch.tensor([[2.0, 2.0, 2.0, 2.0], [5.0, 0.0, 0.0, 0.0]])
    mask = torch.tensor([[True] * 4, [True, False, False, False]])
    tokens = number(_mean(align.token_mean(loss, mask)), 2)
    texts = number(_mean(align.sequence_mean(loss, mask)), 2)
    fixed = number(_mean(align.fixed_length_mean(loss, mask, 4)), 2)
    return Difference(
        "Loss of several answers",
        "tokens-or-sequences",
        "the same numbers as two answers, longest 4",
        {
            "mathlm": f"{texts} `grpo_loss`; {fixed} `dr_grpo_loss`",
            "trl": f'{tokens} (`"dapo"`, default); {texts} (`"grpo"`); {fixed} (`"dr_grpo"`)',
            "courses and papers": f"{texts} (GRPO); {tokens} (DAPO, nanochat); "
            f"{fixed} (Dr. GRPO)",
        },
        "`token_mean`, `sequence_mean`, `fixed_length_mean`",
    )


def _mean(total_and_count: tuple[Tensor, int]) -> Tensor:
    return total_and_count[0] / total_and_count[1]


# --- optimizers ------------------------------------------------------------------------------


def from_zero(t: int, warmup: int) -> float:
    """Share t / w; step 0 does nothing. transformers, optimization.py; CS336, assignment 1."""
    return t / max(1, warmup)


def from_one(t: int, warmup: int) -> float:
    """Share (t + 1) / w; step w - 1 is whole. karpathy/nanochat, scripts/base_train.py."""
    return (t + 1) / warmup


def warm_up() -> Difference:
    """The share of the peak at the first step."""
    ours = number(optim.warmup_cosine(peak=1.0, warmup=4, steps=8)(0), 2)
    zero = number(from_zero(0, 4), 2)
    return Difference(
        "Warm-up",
        "warm-up",
        "of 4 steps; share of the peak at step 0",
        {
            "mathlm": ours,
            "torch": f"{number(1 / 3, 2)}, `LinearLR`'s `start_factor`",
            "transformers": zero,
            "trl": zero,
            "courses and papers": f"{ours} (nanoGPT); {zero} (CS336); "
            f"{number(from_one(0, 4), 2)} (nanochat)",
        },
        "any function of the step is a schedule; `warmup=w-1` is t/w one step early",
    )


def adam_first_step(g: float, eps: float, corrected: bool, b1: float = 0.9) -> float:
    """First step of Adam at learning rate 1, ε after or before the bias correction.

    Before: Kingma and Ba (2015), end of section 2; CS336, assignment 1 (``AdamW``).
    """
    b2 = 0.999
    m, v = (1 - b1) * g, (1 - b2) * g * g
    if corrected:
        return m / (1 - b1) / (math.sqrt(v / (1 - b2)) + eps)
    return math.sqrt(1 - b2) / (1 - b1) * m / (math.sqrt(v) + eps)


def epsilon_of_adam() -> Difference:
    """ε after the bias correction, or before it."""
    ours = number(_first_step(optim.AdamW, lr=1.0, weight_decay=0.0), 3)
    torch_step = number(_first_step(torch.optim.AdamW, lr=1.0, weight_decay=0.0), 3)
    early = number(adam_first_step(1e-6, 1e-8, corrected=False), 3)
    return Difference(
        "ε of Adam",
        "epsilon",
        "first step for g = 10⁻⁶ and ε = 10⁻⁸, in learning rates",
        {
            "mathlm": ours,
            "torch": torch_step,
            "transformers": torch_step,
            "trl": torch_step,
            "courses and papers": f"{early} (CS336, TensorFlow)",
        },
        "`optim.AdamEpsilonHat`; none with decoupled decay",
    )


def _first_step(kind: Callable, g: float = 1e-6, **options: float) -> float:
    p = nn.Parameter(torch.zeros(1, dtype=torch.float64))
    p.grad = torch.full_like(p, g)
    kind([p], eps=1e-8, **options).step()
    return -p.item()


def clipping() -> Difference:
    """Whether a clipped gradient has the largest norm allowed, or just less."""
    found = {}
    for name, clip in (("ours", optim.clip_grad_norm), ("torch", nn.utils.clip_grad_norm_)):
        p = nn.Parameter(torch.zeros(2, dtype=torch.float64))
        p.grad = torch.tensor([3e-6, 4e-6], dtype=torch.float64)
        clip([p], 1e-6)
        found[name] = number(1e6 * p.grad.norm().item(), 3)
    return Difference(
        "Clipping",
        "clipping",
        "norm 5·10⁻⁶ clipped to 10⁻⁶; the result in 10⁻⁶",
        {
            "mathlm": found["ours"],
            "torch": f"{found['torch']}: divides by the norm + 10⁻⁶",
            "transformers": found["torch"],
            "trl": found["torch"],
            "courses and papers": f"{found['torch']} (CS336)",
        },
        "none",
    )


# --- alignment -------------------------------------------------------------------------------


def spread_of_a_group() -> Difference:
    """What divides the advantages of GRPO."""
    rewards = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    ours = align.group_advantages(rewards)[0, 0]
    trl = align.group_advantages(rewards, correction=1)[0, 0]
    cs336 = align.group_advantages(rewards, correction=1, eps=1e-6)[0, 0]
    return Difference(
        "Spread of a group",
        "spread-of-a-group",
        "rewards 1, 0, 0, 0; advantage of the first",
        {
            "mathlm": number(ours, 4),
            "torch": f"{number(1 / rewards.std() * 0.75, 4)}, `std` without ε",
            "trl": f"{number(trl, 4)}, ε = 10⁻⁴",
            "courses and papers": f"{number(cs336, 4)} (CS336, ε = 10⁻⁶); "
            f"{number(align.centred_advantages(rewards)[0, 0], 4)} (Dr. GRPO, nanochat)",
        },
        "`group_advantages(r, correction=1, eps=1e-6)`; `centred_advantages`",
    )


def summed_or_averaged() -> Difference:
    """The log-probability of an answer: a sum over its tokens, or their mean."""
    logp, zeros = torch.tensor([4.0, -1.0]), torch.zeros(2)  # above the reference
    lengths = torch.tensor([8.0, 2.0])
    sums = align.dpo_loss(*align.implicit_reward(logp, zeros, 0.1))
    means = align.dpo_loss(*align.length_normalized_reward(logp, zeros, lengths, 0.1))
    return Difference(
        "DPO",
        "dpo",
        "log-ratios +4 nats in 8 tokens, −1 in 2; β = 0.1",
        {
            "mathlm": number(sums),
            "trl": f'{number(sums)} (`"sigmoid"`); {number(means)} (`"sigmoid_norm"`)',
            "courses and papers": f"{number(sums)} (the paper); "
            f"{number(means)} (LLMs-from-scratch, Tülu 3)",
        },
        "`length_normalized_reward`",
    )


def ipo_normalized() -> Difference:
    """The target margin of IPO: of answers, or per token."""
    chosen, rejected, beta = torch.tensor([4.0]), torch.tensor([-1.0]), 0.1
    zeros = torch.zeros(1)
    by_sum = [align.implicit_reward(x, zeros, beta) for x in (chosen, rejected)]
    pairs = ((chosen, torch.tensor([8.0])), (rejected, torch.tensor([2.0])))
    by_mean = [align.length_normalized_reward(x, zeros, n, beta) for x, n in pairs]
    sums, means = (number(align.ipo_loss(a, b, beta), 2) for a, b in (by_sum, by_mean))
    return Difference(
        "IPO",
        "dpo",
        "the same pair",
        {
            "mathlm": sums,
            "trl": means,
            "courses and papers": f"{sums} (equation 17 of the paper)",
        },
        "`ipo_loss` of `length_normalized_reward`",
    )


def scale_of_lora() -> Difference:
    """The factor in front of a low-rank update."""
    rank, alpha = 16, 16
    plain, stable = (functional.lora_scale(rank, alpha, s) for s in (False, True))
    return Difference(
        "Scale of LoRA",
        "lora-scale",
        "rank 16, α = 16",
        {
            "mathlm": f"{plain:.0f}",
            "transformers": f"{plain:.0f}; {stable:.0f} with `use_rslora` (PEFT)",
            "trl": f"{plain:.0f}, by PEFT",
            "courses and papers": f"{plain:.0f} (the paper); {alpha} (LLMs-from-scratch: α)",
        },
        "`lora_scale(..., rank_stabilized=True)`",
    )


# --- counting --------------------------------------------------------------------------------


def half_the_pairs(T: int, width: int) -> float:
    """Forward FLOP of attention, 4 T² D / 2. Dao-AILab/flash-attention, benchmarks."""
    return 4 * T * T * width / 2


def causal_flop() -> Difference:
    """Whether pairs that the mask hides are counted."""
    T, D = 8, 64
    config = GPTConfig(vocab_size=1, context=T, d_model=D, n_layers=1, n_heads=1)
    twice = forward_flops(config, T), forward_flops(config, 1) * T
    ours = (twice[0] - twice[1]) * T // (T - 1)  # what grows with T² alone
    seen = 4 * D * int(functional.causal_mask(T, T).sum())
    return Difference(
        "FLOP of causal attention",
        "flop",
        "8 tokens, width 64, forward",
        {
            "mathlm": f"{ours:,}",
            "torch": f"{ours:,}, `FlopCounterMode`",
            "courses and papers": f"{ours:,} (PaLM, nanoGPT, nanochat); "
            f"{half_the_pairs(T, D):,.0f} (FlashAttention); {seen:,} pairs seen",
        },
        "none: the pairs seen are T(T+1)/2 of T²",
    )


TABLE: tuple[Callable[[], Difference], ...] = (
    ties_of_merges,
    padding,
    label_shift,
    windows,
    weight_layout,
    mask_meaning,
    mask_alignment,
    rotary_pairs,
    gelu_forms,
    spread_of_numbers,
    direction_of_kl,
    means_of_parts,
    means_of_texts,
    warm_up,
    epsilon_of_adam,
    clipping,
    spread_of_a_group,
    summed_or_averaged,
    ipo_normalized,
    scale_of_lora,
    causal_flop,
)


def table() -> str:
    """All differences as one table in Markdown; every value in it is computed now."""
    head = ["convention, example", *WHO, "the other one in mathlm"]
    lines = [head, ["---"] * len(head), *(row().cells() for row in TABLE)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def alternatives(value: str) -> set[str]:
    """The values that a cell names, without the names of those who give them."""
    parts = (re.match(r"\([^)]*\)|[^\s,:]+(?<=\d),\d+|[^\s,:]+", p) for p in value.split("; "))
    return {part[0] for part in parts if part}


def agreement(row: Difference, who: str) -> str | None:
    """Whether another gives what mathlm gives: "same", "other", "both", or None: no rule."""
    if who not in row.values:
        return None
    ours, theirs = alternatives(row.values["mathlm"]), alternatives(row.values[who])
    if theirs <= ours:
        return "same"
    return "both" if theirs & ours else "other"

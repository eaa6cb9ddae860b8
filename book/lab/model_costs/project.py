"""Grader of the project of this page: what a decoder costs, counted by the reader."""

from collections.abc import Callable, Mapping
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.layers.feedforward import GATES
from mathlm.models import GPTConfig
from mathlm.scaling import PUBLISHED, count_parameters, forward_flops, kv_cache_bytes

Cost = Callable[[GPTConfig, int], Mapping[str, Any]]
SMALL: dict[str, Any] = {"vocab_size": 70, "context": 16, "d_model": 24, "n_layers": 3}
PLAIN = GPTConfig(**SMALL, n_heads=4)
GATED = GPTConfig(
    **SMALL, n_heads=4, d_ff=40, norm="rms", activation="swiglu", position="rope", bias=False
)
GROUPED = GPTConfig(
    **SMALL, n_heads=6, n_kv_heads=2, d_head=10, d_ff=40, norm="rms", activation="swiglu",
    position="rope", bias=False, tie_embeddings=False,
)  # fmt: skip


def grade(cost: Cost) -> Report:
    """Test a function that counts what a decoder costs before it is made.

    Args:
        cost: ``cost(config, tokens)`` returns a dictionary with "parameters", "flops" of a
            forward pass over one sequence of so many tokens (full square), and "cache", the
            bytes of its keys and values in 16 bits.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, cost, advice=_advice)


def _advice(error: Exception) -> str:
    """What usually raises such an error here."""
    if isinstance(error, AttributeError):
        return (
            "A configuration has d_model, n_layers, n_heads, kv_heads, head_width, ff_width, "
            "vocab_size, context, norm, activation, position, bias and tie_embeddings."
        )
    return ""


def _value(cost: Cost, config: GPTConfig, tokens: int, name: str) -> Any:
    """One entry of the dictionary, once it is there and a whole number."""
    found = cost(config, tokens)
    if not isinstance(found, Mapping):
        raise FaultError(f"cost must return a dictionary, it returned {type(found).__name__}.")
    if name not in found:
        raise FaultError(f"the dictionary has no entry {name!r}.")
    if found[name] != int(found[name]):
        raise FaultError(f"{name} is {found[name]}; a count is a whole number.")
    return int(found[name])


def _compare(found: int, wanted: int, mistakes: Mapping[str, int]) -> None:
    """Say which mistake gives ``found``, or how far it is from what is right."""
    if found == wanted:
        return
    for sentence, wrong in mistakes.items():
        if found == wrong != wanted:
            raise FaultError(sentence)
    raise FaultError(f"{found:,} were counted; there are {wanted:,} ({found - wanted:+,}).")


# --- parameters -----------------------------------------------------------------------------


def _biases(c: GPTConfig) -> int:
    """All biases of the linear maps."""
    width = (c.n_heads + 2 * c.kv_heads) * c.head_width
    return c.n_layers * (width + 2 * c.d_model + c.ff_width)


def _plain(cost: Cost) -> None:
    c, n = PLAIN, count_parameters(PLAIN)
    D = c.d_model
    mistakes = {
        "the tied head is counted a second time.": n + c.vocab_size * D,
        "the table of positions is left out; learned positions have one of S rows.": (
            n - c.context * D
        ),
        "the last norm is left out: there are 2 L + 1.": n - 2 * D,
        "a norm has D parameters in your count; LayerNorm has a gain and a bias.": (
            n - (2 * c.n_layers + 1) * D
        ),
        "all norms are left out.": n - (2 * c.n_layers + 1) * 2 * D,
        "the biases of the linear maps are left out.": n - _biases(c),
    }
    _compare(_value(cost, c, 5, "parameters"), n, mistakes)


def _gated(cost: Cost) -> None:
    c, n = GATED, count_parameters(GATED)
    D, L = c.d_model, c.n_layers
    mistakes = {
        "the matrix of the gate is left out: SwiGLU has three.": n - L * D * c.ff_width,
        "positions are counted; rotary ones have no parameters.": n + c.context * D,
        "norms have a bias in your count; RMSNorm has a gain only.": n + (2 * L + 1) * D,
        "biases are counted; this configuration has none.": n + _biases(c),
        "the feed-forward width is taken as 4 D; it is config.ff_width.": (
            n + L * 3 * D * (4 * D - c.ff_width)
        ),
    }
    _compare(_value(cost, c, 5, "parameters"), n, mistakes)


def _grouped(cost: Cost) -> None:
    c, n = GROUPED, count_parameters(GROUPED)
    D, L, K, H, G = c.d_model, c.n_layers, c.head_width, c.n_heads, c.kv_heads
    mistakes = {
        "the head is left out; this one is not tied.": n - c.vocab_size * D,
        "keys and values have H heads in your count; they have G.": n + L * 2 * (H - G) * K * D,
        "queries and output are taken as D × D; they are H K × D.": (
            n + L * 2 * D * (D - H * K)
        ),
    }
    _compare(_value(cost, c, 5, "parameters"), n, mistakes)


# --- arithmetic and memory ------------------------------------------------------------------


def _flops(config: GPTConfig) -> Callable[[Cost], None]:
    """A test of the FLOP of one configuration."""

    def test(cost: Cost) -> None:
        c, T = config, 11
        right, D, L = forward_flops(c, T), c.d_model, c.n_layers
        pairs = 4 * L * T * T * c.n_heads * c.head_width
        gate = 2 * T * L * D * c.ff_width if c.activation in GATES else 0
        mistakes = {
            "a multiplication with its addition counts as one; it is 2 FLOP.": right // 2,
            "the products of attention without weights, 4 L T² H K, are left out.": (
                right - pairs
            ),
            "scores are counted and mixtures not, or half of the square: both have T² pairs.": (
                right - pairs // 2
            ),
            "their width is taken as D; it is H K.": right - pairs + 4 * L * T * T * D,
            "the head is left out; it is a product even where it is tied.": (
                right - 2 * T * D * c.vocab_size
            ),
            "looking up a token is counted as a product; it costs none.": (
                right + 2 * T * D * c.vocab_size
            ),
            "the gate is left out.": right - gate,
            "the work is that of one token; multiply by T.": right // T,
            "2 N T counts norms, biases and tables, too, and no pairs.": (
                2 * T * count_parameters(c)
            ),
            "2 N T + 4 L T² H K counts norms, biases and tables, too.": (
                2 * T * count_parameters(c) + pairs
            ),
        }
        _compare(_value(cost, c, T, "flops"), right, mistakes)

    return test


def _square(cost: Cost) -> None:
    once, twice = (_value(cost, GATED, T, "flops") for T in (64, 128))
    if twice == 2 * once:
        raise FaultError("twice the tokens double the work; the pairs of tokens grow fourfold.")
    _compare(twice, forward_flops(GATED, 128), {})


def _cache(cost: Cost) -> None:
    c, T = GROUPED, 9
    right = kv_cache_bytes(c, T)
    mistakes = {
        "keys or values are counted, not both.": right // 2,
        "a number has 2 bytes in 16 bits, not 4.": right * 2,
        "every query head has keys of its own in your count; G heads have.": (
            right // c.kv_heads * c.n_heads
        ),
        "a cache of width D is counted; it is G K.": 2 * c.n_layers * T * c.d_model * 2,
        "one layer is counted; each of L has its own.": right // c.n_layers,
    }
    _compare(_value(cost, c, T, "cache"), right, mistakes)


def _published(cost: Cost) -> None:
    for name in ("gpt2", "smollm2-135m", "llama-7b", "llama2-70b", "gpt3-175b"):
        c: Any = PUBLISHED[name]
        found = cost(c, 1024)
        wanted = {"parameters": count_parameters(c), "flops": forward_flops(c, 1024)}
        wanted["cache"] = kv_cache_bytes(c, 1024)
        for key, value in wanted.items():
            if found[key] != value:
                raise FaultError(f"{key} of {name}: {found[key]:,}, where {value:,} is right.")


SIZES = ("a plain GPT", "a gate, RMSNorm, rotation", "grouped heads, a head of its own")
WORK = ("FLOP of a plain GPT", "FLOP with gate and groups")
TESTS = (
    Case(SIZES[0], _plain),
    Case(SIZES[1], _gated, needs=SIZES[:1]),
    Case(SIZES[2], _grouped, needs=SIZES[:2]),
    Case(WORK[0], _flops(PLAIN)),
    Case(WORK[1], _flops(GROUPED), needs=WORK[:1]),
    Case("twice the tokens", _square),
    Case("cache", _cache),
    Case("published models", _published, needs=(*SIZES, *WORK, "cache")),
)

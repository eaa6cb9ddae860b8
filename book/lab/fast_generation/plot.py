"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import cache_calculator_demo, draft_tokens_demo
from .figures import (
    cache_answers,
    cache_steps,
    divergence_by_bits,
    noise_by_bits,
    rates_against_expected,
    reading_rates,
    shared_mass,
    speedup_lines,
    together_times,
    token_times,
)

__all__ = [
    "cache_answers",
    "cache_calculator_demo",
    "cache_steps",
    "divergence_by_bits",
    "draft_tokens_demo",
    "noise_by_bits",
    "rates_against_expected",
    "reading_rates",
    "shared_mass",
    "speedup_lines",
    "style",
    "together_times",
    "token_times",
]

"""What models cost and how they improve with size."""

from .allocation import (
    LifetimePlan,
    effective_parameters,
    effective_tokens,
    inference_optimal,
    optimal_allocation,
    repeated_loss,
)
from .budget import (
    ASSUMED,
    DEVICES,
    KNOWN_RUNS,
    Span,
    TrainingBill,
    parameters_and_tokens,
    text_share,
    training_bill,
)
from .chinchilla import (
    ChinchillaFit,
    ChinchillaLaw,
    chinchilla_intervals,
    fit_chinchilla,
)
from .decoding import decode_bytes, decode_limit
from .flops import (
    arithmetic_intensity,
    flop_utilization,
    flops_per_token,
    forward_flops,
    six_nd,
    training_days,
)
from .isoflop import Envelope, Parabolas, Points, envelope, isoflop_optimum, isoflop_points
from .kaplan import KaplanFit, KaplanLaw, fit_kaplan, kaplan_intervals, kaplan_loss
from .memory import (
    inference_memory,
    kept_with_segments,
    saved_numbers,
    sharded_memory,
    training_memory,
)
from .parameters import (
    active_parameters,
    count_parameters,
    kv_cache_bytes,
    latent_cache_bytes,
    window_cache_bytes,
)
from .plan import BudgetPlan, plan_budget
from .power_law import PowerLaw, bootstrap_exponent, fit_power_law, held_out_errors
from .published import PUBLISHED
from .run_table import RunTable, read_runs

__all__ = [
    "ASSUMED",
    "BudgetPlan",
    "ChinchillaFit",
    "ChinchillaLaw",
    "DEVICES",
    "Envelope",
    "KNOWN_RUNS",
    "KaplanFit",
    "KaplanLaw",
    "LifetimePlan",
    "PUBLISHED",
    "Parabolas",
    "Points",
    "PowerLaw",
    "RunTable",
    "Span",
    "TrainingBill",
    "active_parameters",
    "arithmetic_intensity",
    "bootstrap_exponent",
    "chinchilla_intervals",
    "count_parameters",
    "decode_bytes",
    "decode_limit",
    "effective_parameters",
    "effective_tokens",
    "envelope",
    "fit_chinchilla",
    "fit_kaplan",
    "fit_power_law",
    "flop_utilization",
    "flops_per_token",
    "forward_flops",
    "held_out_errors",
    "inference_memory",
    "inference_optimal",
    "isoflop_optimum",
    "isoflop_points",
    "kaplan_intervals",
    "kaplan_loss",
    "kept_with_segments",
    "kv_cache_bytes",
    "latent_cache_bytes",
    "optimal_allocation",
    "parameters_and_tokens",
    "plan_budget",
    "read_runs",
    "repeated_loss",
    "saved_numbers",
    "sharded_memory",
    "six_nd",
    "text_share",
    "training_bill",
    "training_days",
    "training_memory",
    "window_cache_bytes",
]

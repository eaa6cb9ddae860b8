"""What models cost and how they improve with size."""

from .activations import saved_numbers
from .allocation import optimal_allocation
from .budget import TrainingBill, parameters_and_tokens, text_share, training_bill
from .budget_sources import ASSUMED, DEVICES, KNOWN_RUNS
from .chinchilla import (
    ChinchillaLaw,
    bootstrap_chinchilla,
    chinchilla_intervals,
    fit_chinchilla,
)
from .counts import kv_cache_bytes
from .decoding import decode_bytes, decode_limit
from .flop_counts import flops_per_token, forward_flops, six_nd
from .intensity import arithmetic_intensity
from .isoflop import Envelope, Parabolas, Points, envelope, isoflop_optimum, isoflop_points
from .kaplan import KaplanLaw, fit_kaplan, kaplan_intervals, kaplan_loss
from .lifetime import LifetimePlan, inference_optimal
from .memory import inference_memory, training_memory
from .parameters import count_parameters
from .power_law import PowerLaw, bootstrap_exponent, fit_power_law, held_out_errors
from .published import PUBLISHED
from .ranges import Span
from .recomputation import kept_with_segments
from .repeated_data import effective_parameters, effective_tokens, repeated_loss
from .sharding import sharded_memory
from .training_time import training_days
from .utilization import flop_utilization

__all__ = [
    "ASSUMED",
    "ChinchillaLaw",
    "DEVICES",
    "Envelope",
    "KNOWN_RUNS",
    "KaplanLaw",
    "LifetimePlan",
    "PUBLISHED",
    "Parabolas",
    "Points",
    "PowerLaw",
    "Span",
    "TrainingBill",
    "arithmetic_intensity",
    "bootstrap_chinchilla",
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
    "optimal_allocation",
    "parameters_and_tokens",
    "repeated_loss",
    "saved_numbers",
    "sharded_memory",
    "six_nd",
    "text_share",
    "training_bill",
    "training_days",
    "training_memory",
]

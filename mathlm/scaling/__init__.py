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
from .emergence import (
    answer_scores,
    enough_steps_right,
    exact_match_from_loss,
    sigmoid_accuracy,
    step_accuracy_needed,
    whole_task_accuracy,
)
from .flop_counts import flops_per_token, forward_flops, six_nd
from .intensity import arithmetic_intensity
from .isoflop import Envelope, Parabolas, Points, envelope, isoflop_optimum, isoflop_points
from .joint_law import KaplanLaw, fit_kaplan, kaplan_intervals, kaplan_loss
from .lifetime import LifetimePlan, inference_optimal
from .manifold import (
    approximation_exponent,
    estimated_dimension,
    flat_torus,
    neighbour_distance,
)
from .memory import inference_memory, training_memory
from .modular_addition import addition_table, fourier_adder, frequency_shares
from .parameters import count_parameters
from .pipeline import Task, idle_share, most_held, pipeline_tasks
from .power_law import PowerLaw, bootstrap_exponent, fit_power_law, held_out_errors
from .published import PUBLISHED
from .random_features import effective_ridge, limited_loss, power_spectrum, ridgeless_loss
from .ranges import Span
from .recomputation import kept_with_segments
from .repeated_data import effective_parameters, effective_tokens, repeated_loss
from .sharding import sharded_memory
from .training_time import training_days
from .utilization import flop_utilization
from .wires import tensor_parallel_overhead, tokens_to_hide
from .writing import decode_bytes, decode_limit
from .zipf import (
    ZipfExponents,
    distinct_seen,
    unlearned_mass,
    unseen_mass,
    zipf_exponents,
    zipf_probabilities,
)

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
    "Task",
    "TrainingBill",
    "ZipfExponents",
    "addition_table",
    "answer_scores",
    "approximation_exponent",
    "arithmetic_intensity",
    "bootstrap_chinchilla",
    "bootstrap_exponent",
    "chinchilla_intervals",
    "count_parameters",
    "decode_bytes",
    "decode_limit",
    "distinct_seen",
    "effective_parameters",
    "effective_tokens",
    "envelope",
    "effective_ridge",
    "enough_steps_right",
    "estimated_dimension",
    "exact_match_from_loss",
    "fit_chinchilla",
    "fit_kaplan",
    "fit_power_law",
    "flat_torus",
    "flop_utilization",
    "flops_per_token",
    "forward_flops",
    "fourier_adder",
    "frequency_shares",
    "held_out_errors",
    "idle_share",
    "inference_memory",
    "inference_optimal",
    "isoflop_optimum",
    "isoflop_points",
    "kaplan_intervals",
    "kaplan_loss",
    "kept_with_segments",
    "kv_cache_bytes",
    "limited_loss",
    "most_held",
    "neighbour_distance",
    "optimal_allocation",
    "power_spectrum",
    "parameters_and_tokens",
    "pipeline_tasks",
    "repeated_loss",
    "ridgeless_loss",
    "saved_numbers",
    "sharded_memory",
    "sigmoid_accuracy",
    "six_nd",
    "step_accuracy_needed",
    "tensor_parallel_overhead",
    "text_share",
    "tokens_to_hide",
    "training_bill",
    "training_days",
    "training_memory",
    "unlearned_mass",
    "unseen_mass",
    "whole_task_accuracy",
    "zipf_exponents",
    "zipf_probabilities",
]

"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest
import torch

from lab.low_precision import project, project_solution
from mathlm.functional import round_scaled

SOURCE = inspect.getsource(project_solution)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1, old
    space = {}
    exec(SOURCE.replace(old, new), space)
    return space["quantize"]


FAULTS = {
    "must be a power of two": (
        "np.where(most > 0, np.ldexp(1.0, exponent), 1.0)",
        "np.where(most > 0, most, 1.0)",
    ),
    "overflows: round up": (
        "exponent = exponent - (mantissa == 0.5)",
        "exponent = exponent - 1",
    ),
    "needs the scale": ("exponent = exponent - (mantissa == 0.5)", "pass"),
    "3 bits after the point": (
        "LEAST_EXPONENT, BITS = 448.0, -6, 3",
        "LEAST_EXPONENT, BITS = 448.0, -6, 2",
    ),
    "subnormal numbers are not kept": (
        "spacing * np.round(y / spacing)",
        "spacing * np.round(y / spacing) * (np.abs(y) >= 2.0**-6)",
    ),
    "is no number of E4M3": ("-6, 3", "-9, 3"),
    "do not cut digits off": ("np.round(", "np.trunc("),
    "go to the even": ("np.round(y / spacing)", "np.floor(y / spacing + 0.5)"),
    "a block of zeros has no logarithm": (
        "np.where(most > 0, np.ldexp(1.0, exponent), 1.0)",
        "np.where(most > 0, np.ldexp(1.0, exponent), np.nan)",
    ),
    "each has its own": (
        "np.abs(parts).max(axis=-1, keepdims=True)",
        "(np.abs(parts).max() + 0 * parts[..., :1])",
    ),
    "return s · fl(x / s)": ("(s * rounded)", "(np.minimum(s, 1) ** 0 * rounded)"),
    "the scales have shape": ("s[..., 0]", "s"),
    "return the pair": (
        "(s * rounded).reshape(x.shape), s[..., 0]",
        "(s * rounded).reshape(x.shape)",
    ),
}


def test_the_solution_passes_and_is_what_the_package_computes():
    report = project.grade(project_solution.quantize)
    assert report.passed, report
    x = np.random.default_rng(0).normal(size=(3, 64)) * 1e3
    expected = round_scaled(torch.from_numpy(x), torch.float8_e4m3fn, 16).numpy()
    np.testing.assert_array_equal(project_solution.quantize(x, 16)[0], expected)


def test_the_numbers_of_the_format_are_those_of_torch():
    held = torch.arange(256, dtype=torch.uint8).view(torch.float8_e4m3fn).float().numpy()
    held = np.unique(held[np.isfinite(held)])
    np.testing.assert_array_equal(project.numbers(), held)


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report

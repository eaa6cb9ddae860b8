"""The large start is one run of the trainer, the same for the same seed."""

import math

import numpy as np

from lab.sequences.large_start import train


def test_a_run_starts_near_eight_bits_and_repeats_itself():
    text = bytes(range(32, 127)) * 10
    losses, norms = train(text, 1.0, seed=0, steps=3)
    assert losses.shape == norms.shape == (3,)
    assert 7 < losses[0] < 10
    np.testing.assert_array_equal(train(text, 1.0, seed=0, steps=3)[0], losses)


def test_the_threshold_changes_only_what_follows_a_step_above_it():
    text = bytes(range(32, 127)) * 10
    clipped, free = (train(text, tau, seed=1, steps=4) for tau in (0.1, math.inf))
    assert clipped[1][0] == free[1][0] > 0.1
    assert clipped[0][0] == free[0][0]
    assert clipped[0][-1] != free[0][-1]

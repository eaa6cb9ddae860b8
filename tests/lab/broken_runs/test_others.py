"""Runs of other pages are healthy, but for those that are shown because they are not."""

import pytest

from lab.broken_runs.columns import names_of
from lab.broken_runs.others import policies, stages

HACKED = {"no price", "one judge"}  # the page on reward hacking shows what they came to


@pytest.mark.parametrize(("name", "record"), [*stages()])
def test_nothing_is_found_in_the_runs_of_chapter_27(name, record):
    assert names_of(record) == []


def test_there_are_three_stages_of_three_runs_and_two_of_one():
    assert len([*stages()]) == 11


@pytest.mark.parametrize(("name", "record"), [*policies()])
def test_a_policy_that_hacked_its_reward_is_named(name, record):
    assert names_of(record) == ["divergence explodes"] * (name in HACKED)

"""Rewards that need no model."""

import pytest

from mathlm.align import (
    ArithmeticReward,
    FormatReward,
    LengthReward,
    RewardFunction,
    SentimentReward,
)
from mathlm.align.reward.functions import result
from mathlm.errors import ConfigError, InputError


@pytest.mark.parametrize(("task", "number"), [
    ("What is 23 + 4?", 27), ("12-30", -18), ("6 x 7 =", 42), ("-3 * 5", -15), ("8 × 2", 16),
    ("Compute 23 + 4.", 27), ("−3 × −5", 15), ("2 − 7", -5), ("2 - -7", 9), ("(2 + 3)", 5),
])  # fmt: skip
def test_results_of_tasks(task, number):
    assert result(task) == number


@pytest.mark.parametrize("task", [
    "How are you?", "1 + 2 and 3 + 4", "1.5 + 2", "1 + 2.5", "2 + 3 + 4", "2 * 3 - 1 =",
    "12 / 3 + 4", "12 ÷ 3 + 4", "12 / 3", "(2 + 3) * 4", "2 * (3 + 4)", "1 + 2 + 3.5",
    "1,000 + 2", "2 + 1,000", "2^3 + 1", "2 ** 3 + 1",
])  # fmt: skip
def test_a_prompt_without_one_task_is_refused(task):
    with pytest.raises(InputError, match="expected one task such as 23 \\+ 4"):
        result(task)


def test_what_stands_in_the_place_of_a_task_is_said():
    with pytest.raises(InputError, match=r"'2 \+ 3 \+ 4 =' holds '2 \+ 3 \+ 4'; expected one"):
        result("2 + 3 + 4 =")
    with pytest.raises(InputError, match="'Hello' holds no task; expected one"):
        result("Hello")


def test_arithmetic_reads_the_first_number():
    prompts = ["What is 2 + 3?"] * 5
    answers = ["5", "It is 5.", "6, no: 5", "five", "-5"]
    assert ArithmeticReward(wrong=0.1)(prompts, answers) == [1.0, 1.0, 0.1, 0.0, 0.1]


@pytest.mark.parametrize(("task", "answer", "reward"), [
    ("1 + 2 =", "3.5", 0.0), ("1 + 2 =", "3.", 1.0), ("1 + 2 =", "3.0", 1.0),
    ("2 − 7 =", "−5", 1.0), ("2 − 7 =", "-5", 1.0), ("7 − 2 =", "−5", 0.0),
    ("9007199254740993 * 1", "9007199254740992", 0.0),
])  # fmt: skip
def test_the_first_number_is_read_whole_and_with_its_sign(task, answer, reward):
    assert ArithmeticReward()([task], [answer]) == [reward]


def test_the_last_question_of_a_conversation_counts():
    said = [{"role": "user", "content": "1 + 1"}, {"role": "assistant", "content": "2"},
            {"role": "user", "content": "4 + 4"}]  # fmt: skip
    assert ArithmeticReward()([said], ["8"]) == [1.0]
    with pytest.raises(InputError, match="no message of a user"):
        ArithmeticReward()([said[1:2]], ["8"])


def test_a_format_matches_the_whole_completion():
    reward = FormatReward(r"<b>.*</b>")
    assert reward([""] * 3, ["<b>x\ny</b>", "<b>x</b>.", ""]) == [1.0, 0.0, 0.0]


def test_length_is_best_at_its_target():
    assert LengthReward(4)([""] * 3, ["abcd", "ab", "abcdef"]) == [0.0, -0.5, -0.5]


def test_sentiment_reads_the_completion_alone_and_may_be_turned_round():
    prompts, completions = ["I hate it."] * 2, ["The book was good.", "It is."]
    assert SentimentReward()(prompts, completions) == pytest.approx([0.4404, 0], abs=5e-5)
    assert SentimentReward(-1)(prompts, completions) == pytest.approx([-0.4404, 0], abs=5e-5)


@pytest.mark.parametrize(("make", "says"), [
    (lambda: LengthReward(0), "target=0 characters must be positive"),
    (lambda: FormatReward("("), "is no regular expression"),
])  # fmt: skip
def test_bad_rewards_are_refused(make, says):
    with pytest.raises(ConfigError, match=says):
        make()


def test_each_is_a_reward_function():
    rewards = SentimentReward(), LengthReward(), ArithmeticReward(), FormatReward("x")
    assert all(isinstance(reward, RewardFunction) for reward in rewards)

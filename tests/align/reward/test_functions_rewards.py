"""What is asked of the numbers that a reward gives."""

import math
from threading import Event

import pytest
import torch

from mathlm.align import TimedReward, judged
from mathlm.errors import ConfigError, InputError

TEXTS = ["good", "bad", "ugly"]


def test_rewards_come_in_order_and_in_double_precision():
    found = judged(lambda x, y: [len(t) for t in y], TEXTS, TEXTS)
    assert found.tolist() == [4, 3, 4]
    assert found.dtype == torch.float64


def test_tensors_are_numbers_too():
    assert judged(lambda x, y: torch.tensor([1.0, 2.0, 3.0]), TEXTS, TEXTS).tolist() == [
        1,
        2,
        3,
    ]


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), None, "1", [1.0]],
                         ids=["nan", "inf", "None", "text", "list"])  # fmt: skip
def test_what_is_no_finite_number_names_function_sample_and_text(value):
    def my_reward(prompts, completions):
        return [0.0, value, 0.0]

    says = r"my_reward gave .*, not a finite number; sample 11: prompt 'bad', completion 'bad'"
    with pytest.raises(InputError, match=says):
        judged(my_reward, TEXTS, TEXTS, first=10)


def test_an_exception_names_the_sample_that_raises_alone():
    def my_reward(prompts, completions):
        return [1 / (text != "ugly") for text in completions]

    says = r"my_reward raised ZeroDivisionError: .*; sample 2: prompt 'ugly', completion 'ugly'"
    with pytest.raises(InputError, match=says):
        judged(my_reward, TEXTS, TEXTS)


def test_an_exception_of_all_together_says_so():
    def my_reward(prompts, completions):
        if len(completions) > 1:
            raise ValueError("too many")
        return [0.0]

    with pytest.raises(InputError, match="too many; in the call with all 3 samples, with none"):
        judged(my_reward, TEXTS, TEXTS)


@pytest.mark.parametrize("number", [2, 4])
def test_another_number_of_rewards_is_refused(number):
    with pytest.raises(InputError, match=rf"gave {number} rewards for 3 completions"):
        judged(lambda x, y: [0.0] * number, TEXTS, TEXTS)


def test_long_texts_are_shortened_in_messages():
    with pytest.raises(InputError) as caught:
        judged(lambda x, y: [None], ["p"], ["x" * 10_000])
    assert len(str(caught.value)) < 300


def test_a_reward_that_does_not_answer_names_the_sample_that_it_waits_at():
    """It would wait for a minute at "ugly"; the others have their rewards."""
    release = Event()

    def my_reward(prompts, completions):
        return [float("ugly" in text and release.wait(60)) for text in completions]

    says = r"my_reward raised TimeoutError: no answer within 0.5 s; sample 2: prompt 'ugly'"
    with pytest.raises(InputError, match=says):
        judged(TimedReward(my_reward, 0.5), TEXTS, TEXTS)
    release.set()
    assert judged(TimedReward(my_reward, 60), TEXTS, TEXTS).tolist() == [0, 0, 1]


def test_what_a_reward_raises_in_time_is_what_it_raises_without():
    def my_reward(prompts, completions):
        return [1 / (text != "ugly") for text in completions]

    with pytest.raises(InputError, match=r"raised ZeroDivisionError: .*; sample 2"):
        judged(TimedReward(my_reward, 60), TEXTS, TEXTS)


def test_a_reward_is_asked_in_the_precision_of_its_caller():
    """Bytes of a product: two within autocast, and as without it where it is off within."""

    def products(prompts, completions):
        one = torch.ones(1, 1, dtype=torch.float32)
        return [float((one @ one).itemsize) for _ in completions]

    timed = TimedReward(products, 60)
    with torch.autocast("cpu", torch.bfloat16):
        assert timed([""], [""]) == products([""], [""]) == [2.0]
        with torch.autocast("cpu", enabled=False):
            assert timed([""], [""]) == products([""], [""])
    assert timed([""], [""]) == products([""], [""])


@pytest.mark.parametrize("seconds", [0, -1, math.inf, math.nan])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(ConfigError, match=f"seconds={seconds} must be positive and finite"):
        TimedReward(len, seconds)

"""What SmolLM2 is asked, and how its answers are read."""

import pytest

from lab.reasoning import smollm2_tasks as tasks


@pytest.mark.parametrize("answer", [" 68\n", "68", " 68", "\n68\n", "  68  "], ids=repr)
def test_a_number_and_nothing_else_is_a_whole_answer(answer):
    assert tasks.whole_answer(answer) == tasks.first_number(answer) == 68


@pytest.mark.parametrize(
    ("answer", "first"),
    [
        ("", None),
        (" \n", None),
        (" sixty-eight\n", None),
        (" 68.", 68),
        (" 68 apples\n", 68),
        (" 6 8\n", 6),
        (" 068\n", 68),
        (" -68\n", 68),
        (" +68\n", 68),
        (" 23 + 45 = 68\n", 23),
        (" 68\n71", 68),
        (" 6.8\n", None),
        (" 1,068\n", None),
        (" 68, 69", 68),
        (" \u0666\u0668\n", None),
        (" x68y", 68),
    ],
    ids=repr,
)
def test_a_malformed_answer_is_no_whole_answer(answer, first):
    assert tasks.whole_answer(answer) is None
    assert tasks.first_number(answer) == first


def test_the_reward_is_one_for_the_result_alone():
    question = tasks.sum_question(30, 11)
    answers = (" 41\n", " 41 ", " 42\n", " 41 or 42\n", " 041\n", "")
    assert [tasks.reward(question, y) for y in answers] == [1, 1, 0, 0, 0, 0]


def test_questions_end_where_the_answer_begins():
    shown = "23 + 45 = 68\n71 + 19 = 90\n"
    assert tasks.sum_question(30, 11) == (shown + "30 + 11 =", 41)
    assert tasks.three_terms(3, 1, 5) == (shown + "3 + 1 + 5 =", 9)
    assert tasks.chat_question(30, 11) == ("What is 30 + 11?", 41)


def test_no_sum_that_is_tested_is_learned_in_either_order_or_shown():
    learned, held_out = tasks.split(100)
    assert (len(learned), len(held_out)) == (90 * 91 // 2 - 2 - 100, 100)
    both = [frozenset(pair) for pair in learned + held_out]
    assert len(set(both)) == len(both)
    assert not {frozenset(pair) for pair in tasks.SHOWN} & set(both)
    assert {n for pair in learned for n in pair} == set(range(10, 100))


def test_the_other_sets_ask_for_held_out_sums_and_for_three_digits():
    _, held_out = tasks.split(100)
    found = dict(tasks.other_sets(held_out, 40))
    assert tuple(found) == tasks.OTHER
    assert {len(questions) for questions in found.values()} == {40}
    sums = [a + b for a, b in held_out[:40]]
    assert [q.result for q in found["chat"]] == sums
    assert all(3 <= q.result <= 27 for q in found["three terms"])


def test_carries_are_what_the_digits_of_the_sum_lack():
    """Each carry replaces ten of one column by one of the next: nine less in the digit sum."""
    for a, b in tasks.split(100)[0][:500]:
        lost = sum(map(int, f"{a}{b}")) - sum(map(int, str(a + b)))
        assert 9 * tasks.carries(f"{a} + {b} =") == lost


def test_an_answer_that_leaves_a_term_out_is_told_from_others():
    kinds = {n: tasks.three_terms_kind("3 + 8 + 9 =", f" {n}\n") for n in range(30)}
    assert [n for n, kind in kinds.items() if kind == "two terms"] == [11, 12, 17]
    assert [n for n, kind in kinds.items() if kind == "right"] == [20]
    assert tasks.three_terms_kind("3 + 8 + 9 =", " 17, or 20") == "other"

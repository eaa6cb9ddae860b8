"""Questions with one right answer, one wrong one, and words that only add length."""

from typing import NamedTuple

GROUPS = {
    "capitals": "France Paris|Japan Tokyo|Italy Rome|Spain Madrid|Egypt Cairo|Germany Berlin|"
    "Russia Moscow|Greece Athens|China Beijing|Ireland Dublin|Cuba Havana|Norway Oslo",
    "opposites": "hot cold|big small|open closed|fast slow|wet dry|young old|empty full|"
    "early late|rich poor|strong weak",
    "the young": "dog puppy|cat kitten|cow calf|horse foal|sheep lamb|duck duckling|pig piglet|"
    "bear cub",
    "sums": "2+2 4|3+5 8|7+6 13|6+3 9|8+4 12|5+5 10|9+6 15|3+4 7",
    "people": "wrote_Hamlet Shakespeare|painted_the_Mona_Lisa Leonardo|"
    "developed_the_theory_of_relativity Einstein|discovered_penicillin Fleming",
    "things": "do_bees_make Honey|is_frozen_water_called Ice|do_cows_eat Grass|"
    "organ_pumps_the_blood Heart|gas_do_fires_need Oxygen|metal_do_magnets_attract Iron",
}
ASKED = {
    "capitals": "What is the capital of {}?",
    "opposites": "What is the opposite of {}?",
    "the young": "What is a young {} called?",
    "sums": "What is {}?",
    "people": "Who {}?",
    "things": "What {}?",
}
PADDING = (
    "I hope that this answer is helpful to you, and I am always glad to answer more questions.",
    "Thank you for asking me this question. Please tell me if there is anything else you need.",
    "This is my answer to the question that you have asked, and I have thought about it well.",
)


class Asked(NamedTuple):
    """One question.

    Args:
        question: Text.
        right: The right answer.
        wrong: The right answer to another question of the same group.
        padding: A sentence that holds nothing about the question.
    """

    question: str
    right: str
    wrong: str
    padding: str


def questions() -> list[Asked]:
    """All of them, in the order of the groups."""
    found: list[Asked] = []
    for group, text in GROUPS.items():
        rows = [row.split() for row in text.split("|")]
        answers = [answer[0].upper() + answer[1:] + "." for _, answer in rows]
        for i, (about, _) in enumerate(rows):
            question = ASKED[group].format(about.replace("_", " ").replace("+", " + "))
            padding = PADDING[len(found) % len(PADDING)]
            found.append(Asked(question, answers[i], answers[i - 1], padding))
    return found


__all__ = ["ASKED", "GROUPS", "PADDING", "Asked", "questions"]

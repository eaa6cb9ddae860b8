"""Six texts of different kinds, on which the page measures what heads look at."""

from mathlm.text import corpus

RECIPE = """\
To make a simple tomato soup, heat two spoons of olive oil in a large pot over medium \
heat. Add one chopped onion and a little salt, and cook for about five minutes until it \
is soft. Stir in three cloves of garlic and cook for another minute. Pour in two cans of \
tomatoes with their juice and two cups of vegetable broth. Bring the pot to a boil, then \
lower the heat and let it simmer for twenty minutes. Blend the soup until it is smooth, \
and taste it. If it is too sour, add a pinch of sugar. Serve it hot with bread and a few \
leaves of basil. What is left keeps in the refrigerator for three days and can be frozen \
for up to two months."""

MOON = """\
The Moon goes around the Earth once in about twenty-seven days. It always shows us \
nearly the same face, because it turns once around its own axis in the same time. For a \
long time nobody knew what the far side looked like, until a spacecraft sent back the \
first pictures in 1959. The near side has large dark plains of old lava, which early \
astronomers took for seas. The far side has few of them and many more craters. Why the \
two sides are so different is still not fully understood. One explanation is that the \
crust of the far side is thicker, so that less lava could reach the surface."""

PROGRAM = """def count_words(path):
    counts = {}
    with open(path) as file:
        for line in file:
            for word in line.lower().split():
                word = word.strip('.,;:!?')
                if word:
                    counts[word] = counts.get(word, 0) + 1
    return counts


def most_common(counts, n=10):
    pairs = sorted(counts.items(), key=lambda pair: -pair[1])
    return pairs[:n]


if __name__ == '__main__':
    import sys
    for word, count in most_common(count_words(sys.argv[1])):
        print(word, count)
"""


def sample_texts(length: int = 900) -> dict[str, str]:
    """A monologue, two scenes of other plays, a recipe, an essay and a program.

    Args:
        length: Characters of each excerpt from a play.
    """
    plays = corpus.load("shakespeare")
    monologue = plays.find("To be, or not to be")
    scenes = [plays.index("\n\n", at) + 2 for at in (2_000_000, 100_000)]
    cut = [plays[at : at + length] for at in (monologue, *scenes)]
    names = "Hamlet", "scene", "Rosalind"
    return dict(zip(names, cut, strict=True)) | {
        "recipe": RECIPE,
        "Moon": MOON,
        "program": PROGRAM,
    }

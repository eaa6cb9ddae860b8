import pytest

from lab.attention.bottleneck import recovered
from mathlm.errors import InputError


@pytest.fixture
def text(rng):
    """A text of 600 words drawn from 40, each a vector of 5 numbers."""
    return rng.integers(40, size=600), rng.normal(size=(40, 5))


def test_a_window_as_wide_as_the_summary_comes_back_whole(text):
    assert recovered(*text, 1, width=5, windows=100, tests=20) == 1
    assert recovered(*text, 4, width=20, windows=100, tests=20) == 1


def test_a_narrow_summary_loses_words_and_a_narrower_one_more(text):
    wide, narrow = (recovered(*text, 4, width=w, windows=100, tests=20) for w in (12, 3))
    assert 0.05 < narrow < wide < 1


def test_words_in_a_plane_need_two_numbers(rng):
    table = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 5))
    assert recovered(rng.integers(40, size=300), table, 2, width=4, windows=100, tests=20) == 1


@pytest.mark.parametrize(("n", "width"), [(10, 5), (1, 6), (1, 0)])
def test_a_text_too_short_or_a_summary_too_wide_is_refused(text, n, width):
    with pytest.raises(InputError, match="must be between 1 and"):
        recovered(*text, n, width=width, windows=100, tests=20)

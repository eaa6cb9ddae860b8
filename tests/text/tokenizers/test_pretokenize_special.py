import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.text.tokenizers.pretokenize import require_allowed, require_names, split_special


def test_text_without_allowed_names_stays_whole():
    assert split_special("a<x>b", []) == ["a<x>b"]


def test_odd_parts_are_the_names():
    assert split_special("<x><x>a", ["<x>"]) == ["", "<x>", "", "<x>", "a"]


@pytest.mark.parametrize("names", [["<a>", "<a>b"], ["<a>b", "<a>"]])
def test_longest_name_wins_in_whatever_order_they_are_given(names):
    assert split_special("<a>bc<a>", names) == ["", "<a>b", "c", "<a>", ""]


def test_first_name_wins_over_a_longer_one_that_begins_later():
    assert split_special("abcd", ["ab", "bcd"]) == ["", "ab", "cd"]


def test_names_are_no_patterns():
    assert split_special("a.c abc", ["a.c"]) == ["", "a.c", " abc"]


def test_all_stands_for_every_name():
    assert require_allowed("all", ["<x>", "<y>"]) == {"<x>", "<y>"}


def test_unknown_name_is_an_error_that_lists_the_known():
    with pytest.raises(InputError, match=r"\['<z>'\]; the special tokens are \['<x>'\]"):
        require_allowed({"<z>", "<x>"}, ["<x>"])


def test_one_name_is_not_a_set_of_names():
    with pytest.raises(InputTypeError, match="'<x>' must be 'all' or a set"):
        require_allowed("<x>", ["<x>"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["<x>", ""], r"special\[1\] is empty"),
        (["<x>", "<y>", "<x>"], "'<x>' is at 0 and again at 2"),
        (["\ud800"], "surrogate"),
    ],
)
def test_conflicting_names_are_refused(names, message):
    with pytest.raises(InputError, match=message):
        require_names(names)


def test_one_string_is_not_a_list_of_names():
    with pytest.raises(InputTypeError, match="must be a list of names"):
        require_names("<x>")


def test_names_from_a_generator_are_allowed():
    assert require_allowed((name for name in ["<x>"]), ["<x>", "<y>"]) == {"<x>"}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("allowed", [None, True, [["<x>"]], [3], b"all"])
def test_allowed_names_that_are_no_strings_are_refused(allowed):
    with pytest.raises(InputTypeError, match=r"must be 'all' or a set|a name is a str"):
        require_allowed(allowed, ["<x>"])

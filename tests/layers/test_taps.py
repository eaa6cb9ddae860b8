import torch

from mathlm.layers import scope, tap


class Doubled(dict):
    """Taps that put twice the value in place of the one called ``x``."""

    def __setitem__(self, name, value):
        super().__setitem__(name, 2 * value if name.endswith("x") else value)


def test_without_taps_a_value_passes():
    x = torch.ones(2)
    assert tap(None, "x", x) is x
    assert scope(None, "part.") is None


def test_a_tap_stores_and_returns_the_value():
    taps, x = {}, torch.ones(2)
    assert tap(taps, "x", x) is x
    assert taps["x"] is x


def test_a_dict_may_put_another_value_in_place():
    assert tap(scope(Doubled(), "part."), "x", torch.ones(1)).item() == 2.0


def test_a_scope_is_a_view_with_a_prefix():
    taps = {"other": torch.zeros(1)}
    inner = scope(scope(taps, "a."), "b.")
    inner["x"] = torch.ones(1)
    assert list(taps) == ["other", "a.b.x"]
    assert (list(inner), len(inner)) == (["x"], 1)
    del inner["x"]
    assert list(taps) == ["other"]

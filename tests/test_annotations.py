"""Where annotations are checked when the tests run: everywhere but in slow cases and wiring."""

import jaxtyping
import pytest
import torch

from mathlm import functional


def test_a_value_that_its_annotation_forbids_is_refused(request):
    if not request.config.getoption("jaxtyping_packages"):
        pytest.skip("--jaxtyping-packages= was given: nothing is checked")
    with pytest.raises(jaxtyping.TypeCheckError):
        functional.gelu([1.0])


@pytest.mark.slow
def test_a_slow_case_is_not_checked():
    with pytest.raises(TypeError, match="list"):
        functional.gelu([1.0])


def test_a_case_after_it_is_checked_again():
    assert not jaxtyping.config.jaxtyping_disable
    assert functional.gelu(torch.zeros(1)).item() == 0

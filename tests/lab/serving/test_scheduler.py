"""The simulated server, against queueing theory, Little's law and counts by hand."""

import numpy as np
import pytest

from lab.serving.formulas import longest_of, mean_wait, useful_share, wasted_in_pages
from lab.serving.pages import PagePool, pages_needed
from lab.serving.scheduler import Request, Server, StepCost, poisson
from mathlm.errors import InputError

COST = StepCost(1.0, 0.1)


def test_two_requests_by_hand():
    """Prompts of 3 and 2 at once: 1.5 s, then one step of 1.2 s, then one of 1.1 s."""
    trace = Server(COST, 2).run([Request(0.0, 3, 2), Request(0.0, 2, 3)])
    assert trace.jobs[0].times == pytest.approx([1.5, 2.7])
    assert trace.jobs[1].times == pytest.approx([1.5, 2.7, 3.8])
    assert trace.rate == pytest.approx(5 / 3.8)


def test_a_static_batch_keeps_others_out_and_computes_rows_that_have_ended():
    """The last of three waits for the second to end."""
    requests = [Request(0.0, 1, 1), Request(0.0, 1, 3), Request(0.0, 1, 1)]
    static = Server(COST, 2, static=True).run(requests)
    assert [j.times[-1] for j in static.jobs] == pytest.approx([1.2, 3.6, 4.7])
    assert static.useful == pytest.approx(5 / 7)
    assert Server(COST, 2).run(requests).jobs[2].times[-1] == pytest.approx(2.4)


def test_a_prompt_in_chunks_lengthens_no_step_beyond_the_budget():
    """Four tokens in a step: one is decoded, three are read, 10 of the prompt take 4 steps."""
    requests = [Request(0.0, 1, 12), Request(0.5, 10, 1)]
    whole, cut = (Server(COST, 2, chunk=c).run(requests) for c in (None, 4))
    assert whole.steps[:, 2].max() == 11
    assert cut.steps[:, 2].tolist()[:6] == [1, 4, 4, 4, 2, 1]
    assert cut.gaps.max() < whole.gaps.max()


@pytest.mark.slow
def test_one_server_waits_as_pollaczek_and_khinchine_say():
    """Five seeds of 2,000 requests at a load of one half; five standard errors."""
    cost, found = StepCost(0.0, 0.01), []
    for seed in range(5):
        requests = poisson(np.random.default_rng(seed), 2000, 1.0, prompt=1, mean_output=50)
        found.append(Server(cost, 1).run(requests).waits.mean())
    q = 1 - 1 / 50
    lengths = np.arange(1, 4000)
    p = (1 - q) * q ** (lengths - 1)
    second = (p * (0.01 * lengths) ** 2).sum()
    expected = second / (2 * (1 - 0.5))
    error = np.std(found, ddof=1) / 5**0.5
    assert abs(np.mean(found) - expected) < 5 * error < 0.5 * expected


def test_the_formula_of_waits_knows_the_queue_of_two_exponentials():
    """M/M/1: ρ/(μ − λ), with E[S²] = 2/μ²; at one constant time half of that."""
    service = np.random.default_rng(0).exponential(0.5, size=400_000)
    assert mean_wait(1.0, service) == pytest.approx(0.5 / (2 - 1), rel=0.03)
    assert mean_wait(1.0, np.array([0.5])) == pytest.approx(0.25)
    with pytest.raises(InputError, match=r"load is 1\.50"):
        mean_wait(3.0, np.array([0.5]))


def test_the_longest_of_some_geometric_lengths():
    """Of one: the mean. Of two with q: 2/(1 − q) − 1/(1 − q²)."""
    assert longest_of(1, 10.0) == pytest.approx(10)
    assert longest_of(2, 10.0) == pytest.approx(20 - 1 / (1 - 0.81))
    draws = np.random.default_rng(0).geometric(0.1, size=(100_000, 8)).max(1)
    assert useful_share(8, 10.0) == pytest.approx(10 / draws.mean(), rel=0.01)


@pytest.mark.parametrize("n_pages", [40, 400])
def test_with_pages_every_request_gets_all_its_tokens(n_pages):
    """With few pages jobs are sent back, and what they had written stays."""
    requests = [Request(0.01 * i, 100 + i, 50, 1, 64) for i in range(24)]
    pool = PagePool(n_pages, 16)
    trace = Server(COST, 8, pool=pool).run(requests)
    assert all(j.written == len(j.times) == 50 for j in trace.jobs)
    assert (trace.evictions > 0) == (n_pages == 40)
    assert pool.available == n_pages
    assert not any(pool.references)


def test_a_shared_prefix_is_read_once():
    """Pages of 16: of 70 shared tokens 64 are found by all but the first."""
    requests = [Request(0.0, 100, 5, 1, 70)] + [Request(1e3, 100, 5, 1, 70)] * 3
    runs = [
        Server(COST, 4, pool=PagePool(99, 16, share=s)).run(requests) for s in (True, False)
    ]
    read = [run.steps[:, 2].sum() for run in runs]
    assert read[1] - read[0] == 3 * 64
    assert [j.found for j in runs[0].jobs] == [0, 64, 64, 64]


def test_a_request_that_never_fits_is_refused():
    with pytest.raises(InputError, match="request 0 alone needs more than all 2 pages"):
        Server(COST, 1, pool=PagePool(2, 16)).run([Request(0.0, 16, 99)])


def test_a_page_that_is_kept_is_given_up_last_token_first():
    pool = PagePool(2, 2)
    pages = [pool.take(), pool.take()]
    pool.publish(pages[0], [1, 2])
    pool.publish(pages[1], [1, 2, 3, 4])
    pool.release(pages)
    assert pool.available == 2
    assert pool.find([1, 2, 3, 4, 5]) == pages
    assert pool.take() == pages[1]
    assert pool.find([1, 2, 3, 4]) == pages[:1]
    with pytest.raises(InputError, match="nobody uses it"):
        pool.release([pages[0]])


def test_a_last_page_is_half_empty_on_average():
    waste = [16 * pages_needed(n, 16) - n for n in range(1, 161)]
    assert np.mean(waste) == wasted_in_pages(16) == 7.5


def test_refusals_name_what_they_found():
    with pytest.raises(InputError, match="chunk=3 at least rows"):
        Server(COST, 4, chunk=3)
    with pytest.raises(InputError, match="n_pages=0"):
        PagePool(0)
    pool = PagePool(1)
    pool.take()
    with pytest.raises(InputError, match="all 1 pages are used"):
        pool.take()

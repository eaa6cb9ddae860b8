"""A server simulated step by step: static and continuous batches, pages, prefixes, chunks."""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mathlm.errors import InputError

from .pages import PagePool, pages_needed


@dataclass(frozen=True)
class Request:
    """What a user sends.

    Args:
        arrival: When [s].
        prompt: Tokens of the prompt.
        output: Tokens that will be written; the server does not know it.
        prefix: Name of the text that the prompt begins with.
        shared: Tokens of that text.
    """

    arrival: float
    prompt: int
    output: int
    prefix: int = 0
    shared: int = 0

    def tokens(self, number: int, length: int) -> list[int]:
        """Ids of the first tokens of request ``number``: equal in the shared part only."""
        part = min(length, self.shared)
        own = [-(number + 1)] * (length - part)
        return [self.prefix] * part + own


@dataclass(frozen=True)
class StepCost:
    """Seconds of one pass through the model: fixed + per_token n + per_cached s.

    Args:
        fixed: For reading the weights once and starting the work [s].
        per_token: For each new token, of prompts or of outputs [s].
        per_cached: For each token in the caches that are read [s].
    """

    fixed: float
    per_token: float
    per_cached: float = 0.0

    def __call__(self, new: int, cached: int = 0) -> float:
        """The time of a step [s]."""
        return self.fixed + self.per_token * new + self.per_cached * cached


@dataclass(eq=False)
class Job:
    """A request on the server."""

    number: int
    request: Request
    held: int = 0  # tokens in the cache
    written: int = 0
    found: int = 0  # tokens of the prompt found in the cache
    pages: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)  # when each token came out
    admitted: float = -1.0

    @property
    def wanted(self) -> int:
        """Tokens that must be read before the next one can be written."""
        return self.request.prompt + self.written

    @property
    def done(self) -> bool:
        """Whether every token has been written."""
        return self.written >= self.request.output


@dataclass(frozen=True, eq=False)
class Trace:
    """What happened: the finished jobs, and a row for each step.

    Args:
        jobs: In the order of the requests.
        steps: For each step its start, its seconds, new tokens, rows in the batch, rows that
            were needed, tokens held and tokens of memory set aside.
        evictions: How often a job was sent back for want of pages.
    """

    jobs: list[Job]
    steps: np.ndarray
    evictions: int

    @property
    def end(self) -> float:
        """When the last step ended [s]."""
        return float(self.steps[-1, 0] + self.steps[-1, 1])

    @property
    def rate(self) -> float:
        """Output tokens per second."""
        return sum(j.written for j in self.jobs) / self.end

    @property
    def waits(self) -> np.ndarray:
        """Seconds from arrival to admission."""
        return np.array([j.admitted - j.request.arrival for j in self.jobs])

    @property
    def first(self) -> np.ndarray:
        """Seconds from arrival to the first token (TTFT)."""
        return np.array([j.times[0] - j.request.arrival for j in self.jobs])

    @property
    def total(self) -> np.ndarray:
        """Seconds from arrival to the last token."""
        return np.array([j.times[-1] - j.request.arrival for j in self.jobs])

    @property
    def gaps(self) -> np.ndarray:
        """Seconds between tokens that follow each other, of all jobs (TPOT)."""
        return np.concatenate([np.diff(j.times) for j in self.jobs])

    @property
    def useful(self) -> float:
        """Share of the rows of all decode steps that still needed a token."""
        return float(self.steps[:, 4].sum() / self.steps[:, 3].sum())

    @property
    def in_system(self) -> float:
        """Mean number of requests waiting or served, over time, from arrivals and ends."""
        return float(self.total.sum() / self.end)

    @property
    def filled(self) -> float:
        """Share of the memory set aside that holds tokens, a mean over time."""
        seconds, held, aside = self.steps[:, 1], self.steps[:, 5], self.steps[:, 6]
        return float((seconds * held).sum() / (seconds * aside).sum())


class Server:
    """A model on a machine, and a rule that says who is in the next step.

    Args:
        cost: Seconds of a step.
        rows: Sequences in a batch at most.
        static: Whether a batch stays together until its last sequence ends.
        chunk: New tokens of a step at most; prompts are cut to fit. None: whole prompts.
        pool: Pages; None: every sequence gets ``reserve`` tokens of memory.
        reserve: Tokens set aside for a sequence without pages.
        memory: Tokens of memory without pages; None: enough.
    """

    def __init__(
        self, cost: StepCost, rows: int, *, static: bool = False, chunk: int | None = None,
        pool: PagePool | None = None, reserve: int = 0, memory: int | None = None,
    ) -> None:  # fmt: skip
        if rows < 1 or (chunk is not None and chunk < rows):
            raise InputError(f"rows={rows} must be at least 1, and chunk={chunk} at least rows")
        self.cost, self.rows, self.static, self.chunk = cost, rows, static, chunk
        self.pool, self.reserve = pool, reserve
        self.memory = memory if pool is None else None
        self.running: list[Job] = []
        self.evictions = 0

    def run(self, requests: Sequence[Request]) -> Trace:
        """Serve all requests, in the order of their arrival."""
        order = sorted(range(len(requests)), key=lambda i: requests[i].arrival)
        jobs = [Job(i, r) for i, r in enumerate(requests)]
        coming, waiting = deque(jobs[i] for i in order), deque[Job]()
        clock, steps = 0.0, []
        while coming or waiting or self.running:
            if not waiting and not self.running:
                clock = max(clock, coming[0].request.arrival)
            while coming and coming[0].request.arrival <= clock:
                waiting.append(coming.popleft())
            self.admit(waiting, clock)
            plan = self.plan(waiting)
            new = sum(plan.values()) + self._idle()
            held = sum(j.held for j in self.running) + sum(plan.values())
            seconds = self.cost(new, held)
            needed = [j for j in plan if j.wanted - j.held == plan[j]]
            clock += seconds
            row = clock - seconds, seconds, new, len(needed) + self._idle(), len(needed)
            steps.append((*row, held, self.aside(held)))
            self.finish(plan, needed, clock)
        return Trace(jobs, np.array(steps), self.evictions)

    def admit(self, waiting: deque[Job], clock: float) -> None:
        """Let the oldest waiting jobs in, while there are rows and memory."""
        if self.static and self.running:
            return
        while waiting and len(self.running) < self.rows and self._fits(waiting[0]):
            job = waiting.popleft()
            if job.admitted < 0:
                job.admitted = clock
            if self.pool is not None:
                self._start(job, self.pool)
            self.running.append(job)

    def plan(self, waiting: deque[Job]) -> dict[Job, int]:
        """New tokens of each job in the next step: one to decode, a prompt or a part of it."""
        active = [j for j in self.running if not j.done]
        decoding = [j for j in active if j.wanted - j.held == 1]
        plan = dict.fromkeys(decoding, 1)
        left = np.inf if self.chunk is None else self.chunk - len(plan)
        for job in active:
            if job not in plan and left > 0:
                plan[job] = int(min(job.wanted - job.held, left))
                left -= plan[job]
        return plan if self.pool is None else self._with_pages(plan, waiting, self.pool)

    def finish(self, plan: dict[Job, int], needed: Iterable[Job], clock: float) -> None:
        """Note what the step has read and written, and let finished jobs go."""
        for job, new in plan.items():
            job.held += new
            if self.pool is not None:
                self._publish(job, new, self.pool)
        for job in needed:
            job.written += 1
            job.times.append(clock)
        if not self.static or all(j.done for j in self.running):
            for job in [j for j in self.running if j.done]:
                self.running.remove(job)
                if self.pool is not None:
                    self.pool.release(job.pages)

    def aside(self, held: int) -> int:
        """Tokens of memory that sequences keep from others."""
        if self.pool is not None:
            pages = {page for j in self.running for page in j.pages}
            return len(pages) * self.pool.page_size
        return self.reserve * len(self.running) if self.reserve else max(held, 1)

    def _idle(self) -> int:
        """Rows of a static batch that have ended and are computed all the same."""
        return sum(j.done for j in self.running)

    def _fits(self, job: Job) -> bool:
        if self.pool is not None:  # and a spare page for each row, which will grow
            needed = pages_needed(job.wanted, self.pool.page_size)
            return self.pool.available >= needed + len(self.running)
        if self.memory is None:
            return True
        return (len(self.running) + 1) * self.reserve <= self.memory

    def _start(self, job: Job, pool: PagePool) -> None:
        """Take over the pages of a known prefix; the last token is read in any case."""
        known = pool.find(job.request.tokens(job.number, job.wanted - 1))
        pool.acquire(known)
        job.pages, job.held = known, len(known) * pool.page_size
        job.found = max(job.found, job.held)

    def _with_pages(
        self, plan: dict[Job, int], waiting: deque[Job], pool: PagePool
    ) -> dict[Job, int]:
        """Give each job the pages that it will fill; send the last back if none is left."""
        for job in list(plan):
            while job in plan:
                missing = pages_needed(job.held + plan[job], pool.page_size) - len(job.pages)
                if missing <= pool.available:
                    job.pages.extend(pool.take() for _ in range(missing))
                    break
                self._evict(plan, waiting, pool)
        return plan

    def _evict(self, plan: dict[Job, int], waiting: deque[Job], pool: PagePool) -> None:
        """The job that came last gives its pages back and waits in front."""
        last = self.running.pop()
        if not self.running:
            raise InputError(
                f"request {last.number} alone needs more than all {pool.n_pages} pages"
            )
        pool.release(last.pages)
        last.pages, last.held = [], 0
        plan.pop(last, None)
        waiting.appendleft(last)
        self.evictions += 1

    @staticmethod
    def _publish(job: Job, new: int, pool: PagePool) -> None:
        """Pages that the step has filled can be found from now on."""
        size = pool.page_size
        for full in range((job.held - new) // size, job.held // size):
            tokens = job.request.tokens(job.number, (full + 1) * size)
            pool.publish(job.pages[full], tokens)


def poisson(
    rng: np.random.Generator,
    number: int,
    rate: float,
    prompt: int = 32,
    mean_output: float = 64.0,
) -> list[Request]:
    """Requests that arrive independently, with outputs of geometric length.

    Args:
        rng: Source of the draws.
        number: Requests.
        rate: Arrivals per second; infinite: all at 0.
        prompt: Tokens of every prompt.
        mean_output: Mean of the output's tokens.
    """
    gaps = rng.exponential(1 / rate, size=number) if np.isfinite(rate) else np.zeros(number)
    outputs = rng.geometric(1 / mean_output, size=number)
    times = np.cumsum(gaps)
    return [Request(float(t), prompt, int(n)) for t, n in zip(times, outputs, strict=True)]

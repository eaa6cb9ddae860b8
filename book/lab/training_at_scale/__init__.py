"""What serves the page 19-training-at-scale alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the page: what is kept, who waits, and what is sent.
* ``context_parallel``: Attention over a sequence that is cut over ranks: keys and values go
  around a ring.
* ``demos``: Moving demos on training at scale: ZeRO's memory, a pipeline's bubble; their
  JavaScript is in the .js files.
* ``expert_parallel``: Experts on several ranks: tokens are sent to their expert and back.
* ``one_step``: The step that several processes share: a tiny GPT, a batch, its loss and its
  gradient.
* ``overlap``: When the time of sending hides behind the time of computing.
* ``parallel_demos``: What two processes compute together, each number next to that of one
  process alone.
* ``pipeline``: Layers on several ranks, one after the other, kept busy by micro-batches.
* ``pipeline_schedule``: Who works when, in a model that is cut between its layers.
* ``plans``: What parallel plans store, send and cost, and published runs computed again.
* ``project``: Tests of a reader's step of ZeRO over ranks that talk through a ring.
* ``project_solution``: The same step, written out: one way to solve the project.
* ``rings``: The collectives of data parallelism, written out as messages around a ring.
* ``tensor_parallel``: One block cut over several ranks: each computes some of its heads and
  hidden units.
* ``traffic``: Bytes that a rank sends: what theory says of a step, and what the kernel counts.
* ``two_processes``: Two processes that share one step in every way; started by :func:`run`.
* ``zero``: ZeRO, written out: data parallelism without the copies, in three stages.
* ``zero_demos``: The stages of ZeRO, and torch's own DDP and FSDP, on two processes and on
  one.
"""

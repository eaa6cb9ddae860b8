"""What serves the page 19-training-at-scale alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures on training at scale: what 16 bits lose, what is kept, and what is sent.
* ``demos``: Moving demos on training at scale: the loss scale, ZeRO's memory, a pipeline's
  bubble; their JavaScript is in the .js files.
* ``one_step``: The step that several processes share: a tiny GPT, a batch, its loss and its
  gradient.
* ``overlap``: When the time of sending hides behind the time of computing.
* ``parallel_demos``: What two processes compute together, each number next to that of one
  process alone.
* ``pipeline``: Layers on several ranks, one after the other, kept busy by micro-batches.
* ``pipeline_schedule``: Who works when, in a model that is cut between its layers.
* ``rings``: The collectives of data parallelism, written out as messages around a ring.
* ``sixteen_bits``: Products in 16 bits, emulated in float32; the sizes of gradients.
* ``sixteen_bits_study``: A small GPT trained with products or weights of 16 bits, against one
  of 32.
* ``sixteen_bits_training``: One run of a small GPT with products or weights of 16 bits.
* ``tensor_parallel``: One block cut over several ranks: each computes some of its heads and
  hidden units.
* ``traffic``: Bytes that a rank sends: what theory says of a step, and what the kernel counts.
* ``two_processes``: Two processes that share one step in every way; started by :func:`run`.
* ``zero``: ZeRO, written out: data parallelism without the copies, in three stages.
* ``zero_demos``: The stages of ZeRO, and torch's own DDP and FSDP, on two processes and on
  one.
"""

"""What serves the page 13-multi-head-attention alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on heads: lookups, lenses, circuits, caches, tiles,
  pruning.
* ``demos``: Moving demos of the chapter on heads: online softmax step by step, and what heads
  cost; their JavaScript is in the .js files.
* ``fixed_state``: What a state of fixed size can hold: pairs stored and asked for again.
* ``head_pruning``: What does a pretrained model lose without one of its heads, and without
  many?
* ``linearized``: Linear attention: a feature map in place of the exponential, so that two sums
  suffice.
* ``project``: Tests of a reader's grouped-query attention with the online softmax.
* ``project_solution``: The same attention, written out: one way to solve the project.
* ``several_lookups``: One position must read several others at once: how many heads does it
  need?
* ``several_lookups_study``: The same task for each number of heads, over rates and seeds.
* ``traffic``: Numbers that attention moves between large, slow memory and small, fast memory.
"""

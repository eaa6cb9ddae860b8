"""What serves the page 13-multi-head-attention alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on heads: lookups, lenses, circuits, caches, tiles,
  pruning.
* ``demos``: Moving demos of the chapter on heads: online softmax step by step, and what heads
  cost; their JavaScript is in the .js files.
* ``head_pruning``: What does a pretrained model lose without one of its heads, and without
  many?
* ``linearized``: Linear attention: a feature map in place of the exponential, so that two sums
  suffice.
* ``several_lookups``: One position must read several others at once: how many heads does it
  need?
* ``traffic``: Numbers that attention moves between large, slow memory and small, fast memory.
"""

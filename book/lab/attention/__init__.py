"""What serves the page 10-attention alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Attention: softmax and its temperature, saturation, the plane of values,
  patterns, cost.
* ``demos``: Moving demos of attention: softmax temperature, one query and one key, one
  sentence; their JavaScript is in the .js files.
* ``soft_lookup``: A soft lookup trained by hand-derived gradients: find a word's partner among
  many.
* ``bottleneck``: How many words can be read back from one vector of fixed width.
* ``real_words``: Word vectors of this page: GloVe, standardized, and the words of
  Shakespeare's plays.
* ``soft_lookup_study``: Learning rates of the soft lookup, with and without the division by
  √d_k, over several seeds.
* ``project``: Grader of the project of this page: attention with a mask and its backward pass,
  by hand.
* ``project_solution``: Reference solution of the project: attention with a mask and its
  backward pass, by hand.
"""

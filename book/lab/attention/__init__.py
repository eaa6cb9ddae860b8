"""What serves the page 10-attention alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Attention: softmax and its temperature, saturation, the plane of values,
  patterns, cost.
* ``demos``: Moving demos of attention: softmax temperature, one query and one key, one
  sentence; their JavaScript is in the .js files.
* ``soft_lookup``: A soft lookup trained by hand-derived gradients: find a word's partner among
  many.
"""

"""What serves the page 12-transformer-block alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on the transformer block: bends, spheres, flows, depth.
* ``demos``: Moving demos of the transformer block: one gated unit, and a stack without its
  parts; their JavaScript is in the .js files.
* ``band``: Networks of a few ReLU units that pick out the middle of a range.
* ``block_kinds``: A small GPT with residuals, norms, or neither; its weights keep the size of
  a signal.
* ``collapse``: How far apart the vectors of a sequence still are.
* ``depth``: What depth does to a signal and to its gradient before any training.
* ``depth_training``: Does a deep GPT train without residuals, without norms, or with the norms
  elsewhere?
* ``norm_geometry``: Layer normalization as geometry: a plane, a sphere, and the directions
  that it forgets.
* ``random_stacks``: Random attention and feed-forward maps, stacked in five ways.
* ``regions``: How many regions hyperplanes can cut a space into.
* ``residual``: What depth does to a stack of maps: gradients of a product, growth and mixing
  of a stream.
"""

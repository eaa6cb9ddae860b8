"""What serves the page 12-depth alone.

* ``plot``: What the page calls plot: its figures and demo, and the style.
* ``figures``: Figures of depth: gradients and spreads by block, weights' gradients, recorded
  runs.
* ``demos``: Moving demo of a stack without its parts; its JavaScript is in block.js.
* ``block_kinds``: A small GPT with residuals, norms, or neither, and with its norms in other
  places.
* ``collapse``: How far apart the vectors of a sequence still are.
* ``depth_study``: What depth does to a signal and to its gradient before any training.
* ``depth_training``: Does a deep GPT train without residuals, without norms, or with the norms
  elsewhere?
* ``growth``: What depth does to a stack of maps: gradients of a product, growth and mixing of
  a stream.
* ``random_stacks``: Random attention and feed-forward maps, stacked in several ways.
* ``weight_gradients``: Gradients of weights, block by block, before any training.
* ``project``: Grader of the project: predict any stack before it is drawn.
* ``project_solution``: A reference solution of the project.
"""

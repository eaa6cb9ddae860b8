"""What serves the page 06-initialization alone.

* ``plot``: What the page calls plot: its figures, and the style that it shares.
* ``figures``: Initialization and regularization: signals by depth, memory, regularizers.
* ``project``: The project: tests of a reader's start for any activation.
* ``project_solution``: A solution of the project.
* ``propagation``: How large a signal and its gradient are at each depth of a plain network.
* ``regression``: Linear regression with a prior on the weights or noise on the inputs, in
  closed form.
* ``regularizer_study``: Weight decay and dropout of all strengths on digits with wrong labels,
  as a record.
"""

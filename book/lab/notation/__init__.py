"""What serves the page 04-notation alone.

* ``plot``: What the page calls plot: its figure.
* ``figures``: The shapes of one layer, in rows and in columns.
* ``project``: Grader of the project of this page: a network printed in columns, as a program in
  rows.
* ``project_solution``: Reference solution of the project: the loss of a network, and its
  gradients.
"""

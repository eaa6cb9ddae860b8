"""What serves the page 03-probability alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Probability: beliefs, sums of dice, losses and their slopes, clouds of normal
  points.
* ``demos``: Moving demos of probability: what a prediction costs, and sums of dice; their
  JavaScript is in the .js files.
* ``letter_models``: Five tragedies, a model of letters for each, and the passages that have
  to be named.
* ``batches``: A small network, six lines, and every way to cut them into batches.
* ``project``: Grader of the project of this page: a calibrated naive Bayes classifier of
  plays.
* ``project_solution``: Reference solution of the project of this page: a calibrated naive
  Bayes classifier.
"""

"""What serves the page 23-estimators alone.

* ``plot``: What the page calls plot: its figures, and the style.
* ``figures``: Figures of weights: by success rate, by ratio, and of steps on one batch.
* ``groups``: Groups of right and wrong answers: the weight of a problem, and where training
  ends.
* ``ratios``: Answers of an older policy: the weight of a ratio, its bias, and many steps on one
  batch.
* ``rewards``: Two rewards of one answer: which of them a group's advantages follow, exactly.
* ``stale_study``: Where policies end that take one or many steps on each batch, by loss and
  step size.
* ``project``: Grader of the project of this page: advantages for any pass@k, and a loss for
  answers of an older policy.
* ``project_solution``: Reference solution of the project, without the package's estimators.
"""

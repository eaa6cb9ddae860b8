"""What serves the page 21-distillation alone.

* ``plot``: What the page calls plot: its figures.
* ``figures``: Figures of the page on distillation.
* ``exact_students``: A teacher of order two and a student of order one, in a world of 256
  sequences.
* ``ends_study``: Where five ways of teaching end, for three teachers of the listed world.
* ``glosses``: Definitions from WordNet in few tokens, and SmolLM2 cut down to those tokens.
* ``students``: Small students of a teacher: what they learn from, how long, and what comes
  out.
* ``study``: The record of the page: SmolLM2 teaches a small GPT to write definitions.
* ``project``: Grader of the project of this page: SmolLM2 distilled into a tenth of its size.
* ``project_solution``: Reference solution of the project: SmolLM2 distilled into a tenth of
  its size.
"""

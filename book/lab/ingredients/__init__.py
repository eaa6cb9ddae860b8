"""What serves the page 19-ingredients alone.

* ``plot``: What the page calls plot: its figures.
* ``figures``: Figures of the page: what ingredients cost, and slices of a loss landscape.
* ``directions``: Directions in the space of a model's weights.
* ``ingredients_study``: What each ingredient of pretraining is worth: each arm has a step size
  of its own.
* ``landscape``: Slices of a loss landscape: lines and planes through the weights of a model.
* ``landscape_study``: The landscape that pretraining runs through: random slices, the way to
  the end, barriers.
* ``one_ingredient``: One training run of the small GPT of chapter 19, at a fixed number of
  bytes.
* ``project``: Tests of a reader's comparison of the arms of an ablation.
* ``project_solution``: The same comparison, written out: one way to solve the project.
* ``small_gpt``: The small GPT of chapter 19, as it starts and is trained when one ingredient
  is changed.
"""

"""What serves the page 26-scaling-laws alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures on scaling laws: straight lines, best sizes, budgets and rates.
* ``demos``: A moving demo on budgets: the loss along one, its lowest point, and what missing
  it costs; their JavaScript is in the .js files.
* ``repeated_text``: What a text is worth that is read again and again, against as much that is
  new.
* ``scaling``: Losses of GPTs of many sizes after many numbers of tokens, to fit scaling laws
  to.
* ``scaling_rates``: Which constant rate is best for which size: what a sweep needs before it
  begins.
* ``scaling_readings``: Readings of a sweep: which are fitted and which held out, and what
  their seeds agree on.
* ``scaling_runs``: A family of GPTs on bytes, trained at a constant rate and read off on the
  way.
* ``width_transfer``: Does the best learning rate of a narrow model serve a wide one? With muP,
  and without.
* ``game``: A game: buy recorded runs of the sweep within a purse, and predict a budget beyond
  it.
* ``project``: Tests of a reader's law, and runs to use it on.
* ``project_solution``: A law, a plan and an interval: one way to solve the project.
"""

"""What serves the page 19-pretraining alone.

* ``plot``: What the page calls plot: its figures and its demo.
* ``figures``: Figures of the page: what an unseen byte costs, and when it got cheap.
* ``baselines_study``: What the tables of counts and the compressors charge for unseen plays.
* ``demos``: A moving demo of pretraining: what a model writes as it learns; its script is
  samples.js.
* ``project``: Tests of a reader's run: a tokenizer, a data set and a model that beats a table.
* ``project_solution``: The same run, written out: one way to solve the project.
"""

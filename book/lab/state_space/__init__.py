"""What serves the page 17-state-space alone.

* ``plot``: What the page calls plot: its figures.
* ``figures``: Figures of the page: decay masks, the cost of chunks, recall by pairs.
* ``project``: Tests of a reader's gated delta rule in chunks.
* ``project_solution``: The same rule, written out: one way to solve the project.
* ``recall``: Pairs of a key and a value are shown, then each key is asked for.
* ``recall_study``: The same task for states, attention and a hybrid, over step sizes and seeds.
"""

"""What serves the page 19-training-data alone.

* ``plot``: What the page calls plot: its figures and its demo.
* ``figures``: Figures of the page: what stages drop, which pairs are found, a packed row.
* ``demos``: A moving demo of deduplication: which pairs MinHash finds; its script is bands.js.
* ``duplicates``: How many duplicates real text has, and how often signatures find a pair.
* ``project``: Tests of a reader's search for near duplicates.
* ``project_solution``: The same search, written out: one way to solve the project.
* ``raw_text``: From raw text to documents: what each stage finds of the dirt that was put in.
"""

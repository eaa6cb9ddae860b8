"""What serves the page 01-linear-algebra alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of vectors and matrices: bases, norms, areas, eigenvectors, spectra and
  clouds.
* ``demos``: Moving demos of linear algebra: a matrix on the plane, and a line through a cloud;
  their JavaScript is in the .js files.
* ``updates``: The second experiment: a small GPT trained twice.
* ``update_cuts``: Its updates, counted and cut.
* ``updates_study``: The same over several seeds, recorded.
* ``project``: The project: tests of a reader's PCA and nearest neighbors.
* ``project_solution``: A solution of it.
"""

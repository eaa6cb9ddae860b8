"""What serves the page 03-estimation alone.

* ``plot``: What the page calls plot: its figures and its demo, and what it shares.
* ``figures``: Estimation: divergence fits, strength of a prior, entropy of English.
* ``demos``: A moving demo of estimation: KL divergence in both directions; its JavaScript is in
  the .js file.
* ``block_model``: Letters predicted from histories of any length, by counts in sorted lists.
* ``project``: Grader of the project of this page: a mixture of normals, fitted by EM.
* ``project_solution``: Reference solution of the project of this page: EM for a mixture of
  normals.
"""

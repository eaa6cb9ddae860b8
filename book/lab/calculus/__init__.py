"""What serves the page 02-calculus alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of slopes, gradients, computational graphs and curvature.
* ``demos``: Moving demos of calculus: a secant that becomes a tangent, and a Jacobian that
  predicts; their JavaScript is in the .js files.
* ``curvature``: What the second derivative says: kinds of critical points, steps and their
  limits.
* ``flops``: Counting floating-point operations while NumPy performs them.
* ``sharpening``: Gradient descent on a small network, and the curvature it meets on its way.
* ``project``: The project of chapter 2: tests of a reader's reverse mode over arrays.
* ``project_solution``: A solution of the project of chapter 2: reverse mode over arrays, and
  products with H.
"""

"""What serves the page 12-transformer-block alone.

* ``plot``: What the page calls plot: its figures and demo, and those that it shares.
* ``figures``: Figures of the transformer block: shapes, kinks, spheres, flows.
* ``demos``: Moving demo of one gated unit; its JavaScript is in gate.js.
* ``band``: Networks of a few ReLU units that pick out the middle of a range.
* ``norm_geometry``: Layer normalization as geometry: a plane, a sphere, and the directions
  that it forgets.
* ``regions``: How many regions hyperplanes can cut a space into.
* ``project``: Grader of the project: one block of GPT-2, from weights as its file has them.
* ``project_solution``: A reference solution of the project.
"""

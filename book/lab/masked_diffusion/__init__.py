"""What serves the page 17-masked-diffusion alone.

* ``plot``: What the page calls plot: its figures.
* ``figures``: Figures of the page: bounds by steps, losses of parallel commits, judged texts.
* ``letters``: The plays as lower-case letters and spaces, for a GPT and a masked diffusion
  model.
* ``record``: A GPT and a masked diffusion model of equal parameters, on equally many letters.
* ``project``: Tests of a reader's masked diffusion: hide, score and commit.
* ``project_solution``: One way to solve the project.
"""

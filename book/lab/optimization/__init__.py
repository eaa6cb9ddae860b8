"""What serves the page 06-optimization alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Optimization: walks and landscapes, rates, noise, schedules, clipping.
* ``demos``: Moving demos of optimization: paths of five optimizers on a plane, and schedules;
  their JavaScript is in the .js files.
* ``descent_rates``: How fast descent goes on a quadratic: exact factors for each curvature.
* ``digits_study``: Train a small classifier on handwritten digits; see what it learns, and
  what it memorizes.
* ``gradient_noise``: The noise of a mini-batch gradient, exactly, from the gradients of the
  examples.
* ``landscape``: Three surfaces on which optimizers are compared, with their gradients by hand.
* ``optimizer_study``: Five optimizers on the digits, each at five step sizes, as a record.
* ``project``: The project: tests of a reader's Adam and Muon.
* ``project_solution``: A solution of the project.
* ``step_size_study``: How batch size, schedule and warm-up change what a step size is worth,
  as a record.
"""

"""What serves the page 25-interpretability alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the page on mechanisms: what each depth and part adds, how a circuit
  forms.
* ``demos``: Moving demos: the logit lens as a table to point at, and a map of patched runs;
  their JavaScript is in the .js files.
* ``induction``: A model of attention alone that learns to continue random sequences which
  repeat.
* ``induction_by_hand``: A GPT of two layers whose induction circuit is written by hand: the
  mechanism is known.
* ``induction_rows``: Rows of random tokens that repeat, after a distance that differs from row
  to row.
* ``induction_study``: When do induction heads form: one layer or two, one distance or many,
  several seeds.
* ``attribution_graph``: Edges between the parts of a model of attention alone, and how much
  each one carries.
* ``locality``: How far SmolLM2's heads look, by depth, on fifty sentences of newswire.
* ``project``: Tests of a reader's circuit of a second task, found by patching.
* ``project_solution``: A circuit and a route, by patching: one way to solve the project.
"""

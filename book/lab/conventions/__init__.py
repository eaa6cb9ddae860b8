"""What serves the page 04-conventions alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Conventions as pictures: who agrees with whom, where a mask lies, which features
  pair, what shifted labels do.
* ``demos``: Moving demo of a convention: where the causal mask lies; their JavaScript is in
  the .js files.
* ``differences``: Where libraries, courses and papers differ: each rule as a function, run on a
  small example.
* ``label_shift``: A small GPT trained with its labels shifted by 0, 1 or 2: only one of them
  is a next token.
* ``project``: Grader of the project of this page: which conventions does an unlabelled
  checkpoint use?
* ``project_solution``: Reference solution of the project: try all conventions and keep what
  gives the output.
"""

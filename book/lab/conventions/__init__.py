"""What serves the page 04-conventions alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Conventions as pictures: where a mask lies, which features pair, what shifted
  labels do.
* ``demos``: Moving demo of a convention: where the causal mask lies; their JavaScript is in
  the .js files.
* ``label_shift``: A small GPT trained with its labels shifted by 0, 1 or 2: only one of them
  is a next token.
"""

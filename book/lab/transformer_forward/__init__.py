"""What serves the page 15-transformer-forward alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the whole transformer: its map, its masks, and a model that
  translates.
* ``demos``: Moving demos of the whole transformer: one forward pass, and a sentence as it is
  written; their JavaScript is in the .js files.
* ``alignment``: Which words of the source a decoder looks at while it writes the target.
* ``missing_pieces``: What becomes of a translator of numerals that lacks one of its pieces.
* ``numerals``: English numerals to French by an encoder-decoder, judged on numbers that it
  never saw.
* ``numerals_characters``: English numerals to French letter by letter, up to six digits: the
  record of chapter 15.
* ``numerals_study``: Ten translators of numerals that differ in their seed: the record of what
  they learn and where they look.
* ``project``: Grader of the project of this page: an encoder-decoder that keeps keys and
  values.
* ``project_solution``: Reference solution of the project: an encoder-decoder whose decoder
  keeps keys and values.
* ``predictions``: What can be said of a model before it is trained: its input, its first and
  least losses.
"""

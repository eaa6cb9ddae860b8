"""What serves the page 19-pretraining alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Figures of the chapter on pretraining: what an unseen byte costs, and when it
  got cheap.
* ``demos``: Moving demos of pretraining: what a model writes as it learns, and what MinHash
  finds; their JavaScript is in the .js files.
* ``directions``: Directions in the space of a model's weights.
* ``duplicates``: How many duplicates real text has, and how often signatures find a pair.
* ``ingredients``: What each ingredient of pretraining is worth: one is changed at a time, the
  budget is fixed.
* ``landscape``: Slices of a loss landscape: lines and planes through the weights of a model.
* ``landscape_study``: The landscape that pretraining runs through: random slices, the way to
  the end, barriers.
* ``one_ingredient``: One training run of the small GPT of chapter 19, at a fixed number of
  bytes.
* ``raw_text``: From raw text to documents: what each stage finds of the dirt that was put in.
* ``small_gpt``: The small GPT of chapter 19, as it starts and is trained when one ingredient
  is changed.
"""

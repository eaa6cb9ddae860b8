"""What serves the page 03-probability alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``figures``: Probability: beliefs, sums of dice, surprise, KL fits, entropy of English,
  calibration.
* ``demos``: Moving demos of probability: surprise, sums of dice, and KL in both directions;
  their JavaScript is in the .js files.
"""

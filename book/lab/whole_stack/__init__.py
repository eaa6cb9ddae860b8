"""What serves the page 27-whole-stack alone.

* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
"""

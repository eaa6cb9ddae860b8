"""What serves the page 22-evaluation alone.

* ``study``: The record of the page: SmolLM2 on three sets of questions, judged in three ways.
"""

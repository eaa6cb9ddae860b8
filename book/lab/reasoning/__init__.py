"""What serves the page 23-reasoning alone.

* ``smollm2_tasks``: Sums for SmolLM2 in three wordings, and two verifiers of its answers.
* ``smollm2_study``: SmolLM2 learns sums from a verifier: the record of that part of the page.
"""

"""What serves the page 23-reasoning alone.

* ``sums``: Sums of digits, with scratch work or without, a small GPT, and verifiers.
* ``training``: A GPT that learns sums from a verifier: GRPO, RLOO and DAPO.
* ``study``: Three methods, three wrong verifiers, three seeds: the record of the page.
"""

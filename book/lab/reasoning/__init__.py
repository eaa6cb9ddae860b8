"""What serves the page 23-reasoning alone.

* ``plot``: What the page calls plot: its figures, and the style that it shares.
* ``figures``: Weights of problems, runs, pass@k, votes, wrong verifiers.
* ``sums``: Sums of digits, with scratch work or without, a small GPT, and verifiers.
* ``training``: A GPT that learns sums from a verifier: GRPO, RLOO and DAPO.
* ``study``: Three methods, three wrong verifiers, three seeds: the record of the page.
* ``smollm2_tasks``: Sums for SmolLM2 in three wordings, and two verifiers of its answers.
* ``smollm2_study``: SmolLM2 learns sums from a verifier: the record of that part of the page.
* ``project``: Grader of the project: a verifier and a reward for differences.
* ``project_solution``: Reference solution of the project.
"""

"""What serves the page 27-whole-stack alone.

* ``demos``: One token's way from text to an answer, as a demo.
* ``plot``: What the page calls plot: its figures and demos, and those that it shares.
* ``project``: Grader of the project of this page, one's own stack on one's own text.
* ``project_solution``: Reference solution of the project: clean, split, count and judge.
* ``ten_prompts``: Ten requests to each of the three models that a run leaves.
* ``token_way``: The numbers of one token's way through a model and its two updates.
"""

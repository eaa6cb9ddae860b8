"""What serves the page 17-model-costs alone.

* ``plot``: What the page calls plot: its figures and demo, and the style.
* ``figures``: Figures of the page on costs: parts of a model, work by length and by batch.
* ``demos``: Moving demo of the page on costs: what a configuration costs; its JavaScript is in
  the .js file.
* ``experts``: Published models with experts, and their parameters in all and per token.
* ``project``: Grader of the project of this page: what a decoder costs, counted by the reader.
* ``project_solution``: Reference solution of the project of this page.
"""

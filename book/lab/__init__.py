"""The laboratory of the book: figures, demos and experiments, a folder for each page.

Importable as ``lab`` where notebooks run, which is ``book/``: Jupyter, nbval, papermill and
the first cell on Colab start them there. ``No module named 'lab'`` says that a notebook or a
command runs in another folder: ``cd book`` first. ``mathlm`` never imports from here, and a
folder from another one only as ``tests/test_architecture.py`` lists.

The folder of a page has its name without the number (``14-positional-encoding`` is
``lab.positional_encoding``), and its docstring says which file does what: ``figures`` and
``demos`` (JavaScript in ``.js`` files beside it), gathered in ``plot``, and the experiments.
``grading`` is what the graders of the projects share. A
file that can be run writes a record for ``book/results``.
"""

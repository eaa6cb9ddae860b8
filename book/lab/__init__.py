"""The laboratory of the book: figures, demos and experiments, a folder for each page."""

"""What serves the page 09-embeddings alone."""

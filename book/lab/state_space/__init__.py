"""Laboratory of the page on state spaces and gated linear models."""

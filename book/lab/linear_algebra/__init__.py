"""What serves the page 01-linear-algebra alone."""

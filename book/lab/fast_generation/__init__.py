"""What serves the page 20-fast-generation alone."""

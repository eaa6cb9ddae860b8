"""What serves the page 20-generation alone."""

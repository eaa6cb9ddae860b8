"""What serves the page 06-optimization alone."""

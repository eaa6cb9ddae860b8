"""What serves the page 24-preference-optimization alone."""

"""What serves the page 25-interpretability alone."""

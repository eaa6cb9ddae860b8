"""What serves the page 26-explanations alone."""

"""What serves the page 23-policy-optimization alone."""

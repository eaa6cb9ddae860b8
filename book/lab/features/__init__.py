"""What serves the page 25-features alone."""

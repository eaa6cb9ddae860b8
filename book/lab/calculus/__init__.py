"""What serves the page 02-calculus alone."""

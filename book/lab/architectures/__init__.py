"""What serves the page 17-architectures alone."""

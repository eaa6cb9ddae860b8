"""What serves the page 07-sequences alone."""

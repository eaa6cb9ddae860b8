"""What serves the page 16-transformer-backward alone."""

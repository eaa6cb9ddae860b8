"""What serves the page 18-objectives alone."""

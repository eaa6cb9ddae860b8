"""Speed against peers: both sides in one run, taking turns, reported as ratios."""

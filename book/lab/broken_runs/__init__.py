"""x guide-broken-runs."""

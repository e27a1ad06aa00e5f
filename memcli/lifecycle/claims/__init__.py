"""Short statements taken apart and compared: what they claim, and where two of them differ."""

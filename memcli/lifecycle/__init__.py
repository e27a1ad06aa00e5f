"""Proposals about memories, and the one door that applies them."""

"""Recall the memories that a prompt should have, within a budget of tokens."""

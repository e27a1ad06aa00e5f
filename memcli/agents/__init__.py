"""Connect agents: hooks."""

"""Keep a workspace healthy: checks and statistics."""

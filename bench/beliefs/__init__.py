"""What becomes of new memories: confirmed, superseded, flagged."""

"""Find memories: by words, by meaning, by exact text and by name."""

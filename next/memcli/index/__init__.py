"""The search index: derived from the files, rebuilt whenever they change."""

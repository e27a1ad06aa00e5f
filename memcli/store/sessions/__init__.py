"""Conversations kept in a workspace: their files, appending, listing and the archive."""

"""Where agents meet the workspace."""

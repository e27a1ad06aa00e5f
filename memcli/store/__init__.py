"""The only code that changes files of a workspace."""

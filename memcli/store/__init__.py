"""The only code that writes the user's files."""

"""Read the conversations that agents store."""

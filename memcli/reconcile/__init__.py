"""How a new memory relates to the memories that exist."""

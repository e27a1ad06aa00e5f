"""From a conversation to memory: what is worth keeping of it, and how it is kept."""

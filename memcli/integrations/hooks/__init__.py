"""What happens at the events of an agent's conversation."""

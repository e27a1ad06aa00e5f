"""Put hooks, the skill and scheduled tasks in place, and take them out again."""

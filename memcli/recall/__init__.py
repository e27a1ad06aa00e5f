"""Choose the memories for a start, a prompt, an action and a failure."""

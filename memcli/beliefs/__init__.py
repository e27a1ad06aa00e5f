"""What memories are to each other: the same, an update, a conflict, or distinct; and the keys they fill."""

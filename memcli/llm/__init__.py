"""Ask a language model, through an API or a command, and read its JSON."""

"""Ask a language model, and read its replies."""

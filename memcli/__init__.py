"""Long-term memory for agents and people, kept as plain markdown and worked from the shell."""

__version__ = "0.1.0"

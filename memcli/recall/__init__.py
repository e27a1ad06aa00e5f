"""The memories a prompt should have, within a budget of tokens."""

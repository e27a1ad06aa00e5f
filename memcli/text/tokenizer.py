"""How SQLite's full-text table takes words apart; `words` and the index are made for it."""

TOKENIZE = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Marks count as letters, or Thai and Hindi fall apart."""

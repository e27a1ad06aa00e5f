"""Find credentials and personal data in text, and blank them out."""

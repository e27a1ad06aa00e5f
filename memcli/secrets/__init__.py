"""Find credentials and personal data in text, and mask them."""

"""Other tools' formats in and out."""

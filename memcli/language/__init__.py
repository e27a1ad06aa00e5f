"""Read words, sentences and dates of human languages: pure functions over text."""

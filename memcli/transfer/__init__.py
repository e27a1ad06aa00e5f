"""Export and import: our own files, and the formats of other tools."""

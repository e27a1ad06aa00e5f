"""The formats of files: parsed from text and rendered to text; no disk, no clock, no network."""

"""Pure values and strings: no disk, no clock, no network."""

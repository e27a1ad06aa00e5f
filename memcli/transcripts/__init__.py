"""Transcripts of many tools: where they lie, what each holds, and bringing in all that is new of them."""

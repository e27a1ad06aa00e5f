"""Retrieval on labelled sets, beside plain references."""

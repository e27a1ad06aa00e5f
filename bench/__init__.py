"""Measurements of mem: `python -m bench` lists them."""

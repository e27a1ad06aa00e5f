"""Training of the models in `memcli/data`."""

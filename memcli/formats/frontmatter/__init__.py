"""Read and edit the YAML between the `---` lines of a file without touching what is not changed."""

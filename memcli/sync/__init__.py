"""Exchange a workspace through git, and merge what two machines changed."""

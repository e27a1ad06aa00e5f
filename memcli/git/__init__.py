"""git: the one runner of it, commits, the merge of three trees of memory, and what a repository knows of the past."""

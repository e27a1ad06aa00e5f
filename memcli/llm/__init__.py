"""Ask a language model, and read its answer."""

# Set for `llm.command`. If that is an agent with hooks of mem, the hooks do nothing.
INSIDE_VARIABLE = "MEM_INSIDE_LLM"
FOLDER_PREFIX = "mem-llm-"  # of the empty folder in which this command runs

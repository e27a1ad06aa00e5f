"""Ask a language model, and read its answer."""

# Set for the command that is asked, so that the hooks of an agent that it runs do nothing.
INSIDE_VARIABLE = "MEM_INSIDE_LLM"
FOLDER_PREFIX = "mem-llm-"  # of the empty folder that such a command runs in

"""Where agents meet the workspace: hooks, MCP, the memory tool, and their installation."""

"""The agents that mem connects to: their settings files, and the moments of their conversations.

Another agent, or another moment, is a row here. Imports nothing slow, because hooks may read it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

# Events at which an agent runs mem, as the agents call them: the moment, and the seconds after
# which the agent goes on without mem.
EVENTS: Mapping[str, tuple[str, int]] = {
    "SessionStart": ("start", 10),
    "SubagentStart": ("start", 10),
    "UserPromptSubmit": ("prompt", 10),
    "BeforeAgent": ("prompt", 10),
    "PreToolUse": ("action", 10),
    "PostToolUse": ("failure", 10),
    "PostToolUseFailure": ("failure", 10),
    "PreCompact": ("compaction", 10),
    "PreCompress": ("compaction", 10),
    "Stop": ("turn end", 30),
    "AfterAgent": ("turn end", 30),
    "SessionEnd": ("session end", 3),
}
TOOL_MOMENTS = ("action", "failure")
USUAL = ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd")


class Agent(NamedTuple):
    """An agent, and where it reads its settings."""

    title: str
    program: str
    folder: str  # of its settings, in the home folder
    settings_file: str  # in that folder
    project_file: str  # in a project
    page: str = ""  # the page of a project that it reads at every start
    user_page: str = ""  # the same for all projects, in its folder
    variable: str = ""  # names another folder
    events: tuple[str, ...] = ()  # keys of EVENTS
    tools: str = ""  # which tools it reports, as a pattern of its settings; empty: all
    second: int = 1  # what its settings call a second
    first_values: Mapping[str, Any] = {}  # what a new settings file must contain
    mcp_key: str = ""  # without hooks: the key of the MCP servers
    next_step: str = ""  # what the user has to do before it works
    minimum: str = ""  # the oldest version that shows memories at every moment


AGENTS: Mapping[str, Agent] = {
    "claude-code": Agent(
        "Claude Code",
        "claude",
        ".claude",
        "settings.json",
        ".claude/settings.local.json",
        page="CLAUDE.md",
        variable="CLAUDE_CONFIG_DIR",
        events=(*USUAL, "SubagentStart", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
        tools="Bash|Edit|MultiEdit|Write|NotebookEdit",
        minimum="2.1.9",
    ),
    "codex": Agent(
        "Codex",
        "codex",
        ".codex",
        "hooks.json",
        ".codex/hooks.json",
        page="AGENTS.md",
        variable="CODEX_HOME",
        events=(*USUAL, "PreToolUse", "PostToolUse"),
        next_step="Codex asks at its next start whether you trust the new hooks: say yes.",
        minimum="0.129",
    ),
    "gemini": Agent(
        "Gemini CLI",
        "gemini",
        ".gemini",
        "settings.json",
        ".gemini/settings.json",
        page="GEMINI.md",
        events=("SessionStart", "BeforeAgent", "PreCompress", "AfterAgent", "SessionEnd"),
        second=1000,
    ),
    "copilot": Agent(
        "Copilot CLI",
        "copilot",
        ".copilot",
        "hooks/mem.json",
        ".github/hooks/mem.json",
        page="AGENTS.md",
        variable="COPILOT_HOME",
        events=(*USUAL, "PostToolUse"),
        first_values={"version": 1},
    ),
    "opencode": Agent(
        "opencode",
        "opencode",
        ".config/opencode",
        "opencode.json",
        "opencode.json",
        page="AGENTS.md",
        user_page="AGENTS.md",
        first_values={"$schema": "https://opencode.ai/config.json"},
        mcp_key="mcp",
    ),
    "cursor": Agent(
        "Cursor",
        "cursor",
        ".cursor",
        "mcp.json",
        ".cursor/mcp.json",
        page="AGENTS.md",
        mcp_key="mcpServers",
    ),
}

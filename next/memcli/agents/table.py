"""The agents that mem connects to: their settings files, and the moments of their conversations.

Another agent, or another moment, is a row here. Imports nothing slow, because hooks may read it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

SHELL_AND_EDITS = "Bash|Edit|MultiEdit|Write|NotebookEdit"


class HookEvent(NamedTuple):
    """A moment at which an agent runs a command."""

    name: str  # as the agent calls it
    moment: str  # start, prompt, action, failure, compaction, turn end, session end
    seconds: int  # after which the agent goes on without mem
    matcher: str = ""  # of tool names; empty: all tools


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
    events: tuple[HookEvent, ...] = ()
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
        events=(
            HookEvent("SessionStart", "start", 10),
            HookEvent("SubagentStart", "start", 10),
            HookEvent("UserPromptSubmit", "prompt", 10),
            HookEvent("PreToolUse", "action", 10, SHELL_AND_EDITS),
            HookEvent("PostToolUse", "record", 10, SHELL_AND_EDITS),
            HookEvent("PostToolUseFailure", "failure", 10, SHELL_AND_EDITS),
            HookEvent("PreCompact", "compaction", 10),
            HookEvent("Stop", "turn end", 30),
            HookEvent("SessionEnd", "session end", 5),
        ),
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
        events=(
            HookEvent("SessionStart", "start", 10),
            HookEvent("UserPromptSubmit", "prompt", 10),
            HookEvent("PreToolUse", "action", 10),
            HookEvent("PostToolUse", "failure", 10),
            HookEvent("PreCompact", "compaction", 10),
            HookEvent("Stop", "turn end", 30),
            HookEvent("SessionEnd", "session end", 3),
        ),
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
        events=(
            HookEvent("SessionStart", "start", 10),
            HookEvent("BeforeAgent", "prompt", 10),
            HookEvent("PreCompress", "compaction", 10),
            HookEvent("AfterAgent", "turn end", 30),
            HookEvent("SessionEnd", "session end", 5),
        ),
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
        events=(
            HookEvent("SessionStart", "start", 10),
            HookEvent("UserPromptSubmit", "prompt", 10),
            HookEvent("PostToolUse", "failure", 10),
            HookEvent("PreCompact", "compaction", 10),
            HookEvent("Stop", "turn end", 30),
            HookEvent("SessionEnd", "session end", 5),
        ),
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

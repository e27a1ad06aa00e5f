"""Where agents meet the workspace: hooks, MCP, the memory tool, and their installation.

`AGENTS` is the one table of the agents whose conversations mem hears: another agent, or another event, is a row here.
"""

from collections.abc import Mapping
from typing import NamedTuple

START, SUBAGENT, PROMPT, TOOL, COMPACTION, TURN, END = (
    *("start", "subagent", "prompt", "tool", "compaction", "turn", "end"),
)
"""What mem does at an event; `hooks.py` has a function for each."""


class AgentEvent(NamedTuple):
    """One event of an agent: what mem does at it, and the seconds after which the agent goes on without mem."""

    act: str
    seconds: int
    is_optional: bool = False  # asked for with --tool-errors


class Agent(NamedTuple):
    """An agent that runs hooks: its files, its events, and how it is answered."""

    title: str
    folder: str
    """Its folder in the user's home."""
    variable: str
    """The environment variable that names another one; empty where there is none."""
    user_file: str
    """The file for all projects, in that folder."""
    project_files: tuple[str, ...]
    """The files in a project: the one that is one's own, then the shared one."""
    page: str
    """The page it reads at the start of every session."""
    events: Mapping[str, AgentEvent]
    user_page: str = ""
    """The name of that page in its own folder, where it is another one."""
    answer: str = "last_assistant_message"
    """The key of an event that holds what the agent said."""
    second: int = 1
    """What a second is in its settings."""
    head: Mapping[str, object] = {}
    """What stands in its file beside the hooks."""
    is_flat: bool = False
    """Whether it reads `additionalContext` outside of `hookSpecificOutput`."""
    is_nudged: bool = False
    """Whether it takes a context at the end of a turn."""
    condition: str = ""
    """What has to be so before it runs hooks, which mem cannot see."""


_EVENTS = {
    "SessionStart": AgentEvent(START, 10),
    "UserPromptSubmit": AgentEvent(PROMPT, 10),
    "PreCompact": AgentEvent(COMPACTION, 60),
    "Stop": AgentEvent(TURN, 30),
    "SessionEnd": AgentEvent(END, 5),
}
_AFTER_TOOL = {"PostToolUse": AgentEvent(TOOL, 10, is_optional=True)}

AGENTS: Mapping[str, Agent] = {
    "claude-code": Agent(
        "Claude Code",
        ".claude",
        "CLAUDE_CONFIG_DIR",
        "settings.json",
        (".claude/settings.local.json", ".claude/settings.json"),
        "CLAUDE.md",
        {
            **_EVENTS,
            "SubagentStart": AgentEvent(SUBAGENT, 10),
            **_AFTER_TOOL,
            "PostToolUseFailure": AgentEvent(TOOL, 10, is_optional=True),
        },
        is_nudged=True,
    ),
    "codex": Agent(
        "Codex",
        ".codex",
        "CODEX_HOME",
        "hooks.json",
        (".codex/hooks.json",),
        "AGENTS.md",
        _EVENTS | _AFTER_TOOL,
        condition="Codex runs hooks once its config.toml has `hooks = true` under [features], and /hooks trusts them",
    ),
    "gemini": Agent(
        "Gemini CLI",
        ".gemini",
        "",
        "settings.json",
        (".gemini/settings.json",),
        "GEMINI.md",
        {
            "SessionStart": AgentEvent(START, 10),
            "BeforeAgent": AgentEvent(PROMPT, 10),
            "PreCompress": AgentEvent(COMPACTION, 60),
            "AfterAgent": AgentEvent(TURN, 30),
            "SessionEnd": AgentEvent(END, 5),
        },
        answer="prompt_response",
        second=1000,
        condition="Gemini CLI runs the hooks of a project in a trusted folder alone, and names new ones once",
    ),
    "copilot": Agent(
        "Copilot CLI",
        ".copilot",
        "COPILOT_HOME",
        "hooks/mem.json",
        (".github/hooks/mem.json",),
        "AGENTS.md",
        _EVENTS,
        user_page="copilot-instructions.md",
        head={"version": 1},
        is_flat=True,
        condition="Copilot CLI runs the hooks of a project once its folder is trusted",
    ),
}

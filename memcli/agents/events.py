"""Parse the event that an agent passes to a hook, and build the answer of the hook.

Codex and Copilot use the format of Claude Code, and Gemini has other names for the same. Used
before every tool call, so it imports nothing slow.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

AGENTS = ("claude-code", "codex", "gemini", "copilot")
NAMES = {"BeforeAgent": "UserPromptSubmit", "AfterAgent": "Stop", "PreCompress": "PreCompact"}
SHELLS = ("Bash", "bash", "shell", "exec_command", "local_shell")
# Agents call the output of a tool differently. The last key is that of Copilot.
RESULT_KEYS = ("stdout", "stderr", "output", "content", "text_result_for_llm")
# Codex and Copilot report the output of a command without its exit code.
# `ModuleNotFoundError: No module named x`, `fatal: not a git repository`, `npm ERR! code 1`,
# `bash: foo: command not found`, `Process exited with code 1` of Codex, and
# `<shellid: 3 completed with exit code 1>` of Copilot.
FAILED_OUTPUT = re.compile(
    r"(?im)^(?:[\w.]*(?:error|exception)\b[\w\[\]]*:|error\b|fatal:|panic:|traceback \(most recent"
    r"|npm err!|failed\b|.*: (?:command )?not found$|.*no such file or directory"
    r"|.*permission denied|(?:process exited with|exit) code:? [1-9]"
    r"|<shellid: \d+ completed with exit code [1-9])"
)


class Event(NamedTuple):
    """One event of a conversation."""

    name: str  # as Claude Code calls it
    reported_name: str = ""
    session: str = ""
    subagent: str = ""
    folder: str = ""
    source: str = ""  # of a start: startup, resume, clear, compact, fork; of a compaction: auto
    prompt: str = ""
    answer: str = ""  # the agent's last message
    transcript: str = ""
    tool: str = ""
    call_id: str = ""
    arguments: Mapping[str, Any] = {}
    result: str = ""
    error: str = ""  # of a tool that failed
    time: str = ""

    @property
    def is_shell(self) -> bool:
        return self.tool in SHELLS


def parse_event(data: bytes) -> Event | None:
    """Return the event in some bytes, or None if they contain none."""
    try:
        event = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict):
        return None
    arguments = event.get("tool_input")
    response = event.get("tool_response", event.get("tool_result"))
    tool = read_text(event, "tool_name")
    name = read_text(event, "hook_event_name")
    return Event(
        NAMES.get(name, name),
        name,
        read_text(event, "session_id"),
        read_text(event, "agent_id"),
        read_text(event, "cwd"),
        read_text(event, "source") or read_text(event, "trigger"),
        read_text(event, "prompt"),
        read_text(event, "last_assistant_message") or read_text(event, "prompt_response"),
        read_text(event, "transcript_path"),
        tool,
        read_text(event, "tool_use_id"),
        arguments if isinstance(arguments, dict) else {},
        read_result(response),
        read_text(event, "error") or read_error(response, is_shell=tool in SHELLS),
        read_text(event, "timestamp"),
    )


def read_event(agent: str, data: bytes, folder: str) -> tuple[Event | None, str]:
    """Return the event that a hook receives, and the agent that reports it.

    An event that names no folder is from the folder of the hook's process.
    """
    event = parse_event(data)
    if event is None or agent not in AGENTS:
        return None, agent
    return event._replace(folder=event.folder or folder), find_agent(event, agent)


def find_agent(event: Event, agent: str) -> str:
    """Return the agent that reports an event to the hooks of `agent`.

    Copilot also runs the hooks of Claude Code, whose own events have no time.
    """
    return "copilot" if agent == "claude-code" and event.time else agent


def read_text(event: Mapping[str, Any], key: str) -> str:
    """Return a text of an event. JSON can spell a lone surrogate, which no file can store."""
    value = event.get(key)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def read_result(response: Any) -> str:
    """Return the output of a tool as text."""
    if isinstance(response, dict):
        texts = [read_text(response, key) for key in RESULT_KEYS]
        response = "\n".join(text for text in texts if text) or json.dumps(response)
    return response if isinstance(response, str) else ""


def read_error(response: Any, *, is_shell: bool) -> str:
    """Return the output of a failed tool, or an empty string if the tool did not fail."""
    if isinstance(response, dict) and "text_result_for_llm" in response:
        response = read_result(response)
    if isinstance(response, dict):
        codes = [response.get(key) for key in ("exit_code", "exitCode", "code")]
        has_failed = any(isinstance(code, int) and code for code in codes)
        if has_failed or any(response.get(key) is True for key in ("is_error", "isError")):
            return read_result(response)
    elif isinstance(response, str) and is_shell:
        # Codex reports the exit code first, and programs report their failure last. A log in the
        # middle may quote other errors.
        if FAILED_OUTPUT.search(f"{response[:100]}\n{response[-2000:]}"):
            return response
    return ""


def build_answer(event: Event, agent: str, context: str, message: str = "") -> str:
    """Return the JSON that an agent reads: context for the model, a line for the person."""
    answer: dict[str, Any] = {}
    if context.strip() and agent == "copilot":
        answer["additionalContext"] = context
    elif context.strip():
        details = {"hookEventName": event.reported_name, "additionalContext": context}
        answer["hookSpecificOutput"] = details
    if message:
        answer["systemMessage"] = message
    return json.dumps(answer, ensure_ascii=False) if answer else ""

"""How a command of mem ended, and what a client of the Model Context Protocol is told when it failed."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


Command = Callable[[Sequence[str]], Ran]
"""Runs a command line of mem in this process, its words without the program's name."""

_ARGUMENTS = {
    "search": {"kind", "type", "tag", "since", "until", "as-of", "limit"},
    "read": {"offset", "limit", "as-of", "key", "project"},
    "write": {"type", "title", "tag", "project", "source", "id", "path", "supersedes", "key"},
    "edit": {"replace", "source"},
    "ls": {"type", "tag", "sort", "limit", "key"},
    "grep": {"fixed", "ignore-case", "context", "limit"},
    "promote": {"demote", "source"},
    "recall": {"session"},
}
"""The options a tool's arguments become, by command."""
_CALLED = {"ignore-case": "ignore_case", "replace": "old and new", "F": "fixed", "i": "ignore_case", "n": "limit"}
_CALLED |= {"C": "context", "as-of": "as_of"}
_OPTION = re.compile(r"(?<![\w-])(?:--(?P<long>[a-z][a-z-]+)|-(?P<short>[FinC]))(?:[= ][A-Z]+\b)*")
_COMMAND = re.compile(r"`mem (?P<name>[a-z-]+)[^`]*`")
_TOOLS = {name: f"memory_{name}" for name in ("search", "read", "write", "edit", "ls", "grep", "promote", "recall")}
_TOOLS["forget"] = "memory_delete"


def failed(ran: Ran, name: str) -> Any:
    """Tell the model what went wrong and what mends it, as the command does but in the words of the tools."""
    from mcp.types import CallToolResult, TextContent

    lines = ran.err.strip().splitlines()
    last = lines[-1] if lines else f"ended with {ran.code}"
    try:
        fault: Any = json.loads(last)["error"]
        last = ": ".join(part for part in (in_tool_words(fault["message"]), fix_for(fault["fix"], name)) if part)
    except (ValueError, TypeError, KeyError):
        last = in_tool_words(last.removeprefix("mem: "))
    # Raised, it would get the SDK's own words before it.
    return CallToolResult(content=[TextContent(type="text", text=last)], is_error=True)


def in_tool_words(text: str) -> str:
    """Name arguments for options and tools for commands."""
    text = _COMMAND.sub(lambda found: _TOOLS.get(found["name"], found[0]), text)
    return _OPTION.sub(lambda found: _CALLED.get(name := found["long"] or found["short"], name), text)


def fix_for(fix: str, name: str) -> str:
    """Give a fix in the words of the tools, without what only the command line can do."""
    known = _ARGUMENTS.get(name, set())

    def is_possible(clause: str) -> bool:
        options = _OPTION.finditer(_COMMAND.sub(lambda one: _TOOLS.get(one["name"], one[0]), clause))
        return all(one["short"] or one["long"] in known for one in options)

    return in_tool_words("; ".join(clause for clause in fix.split("; ") if is_possible(clause)))

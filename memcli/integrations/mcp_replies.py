"""What a tool replies: a JSON document, or an error that names arguments and tools, not options and commands."""

import json
import re
from collections.abc import Sequence
from typing import Any

from ..api.workspace import unsaid
from ..errors import MemError

_ARGUMENTS = {
    "search": {"kind", "type", "tag", "since", "until", "as-of", "limit", "path"},
    "read": {"offset", "limit", "as-of", "key", "project"},
    "write": {"type", "title", "tag", "project", "source", "id", "path", "supersedes", "key", "metadata"},
    "edit": {"replace", "patch", "source"},
    "ls": {"type", "tag", "sort", "limit", "key"},
    "grep": {"fixed", "ignore-case", "context", "limit", "path"},
    "promote": {"demote", "source"},
    "recall": {"session"},
}
"""The options of a command that a tool has as arguments: a fix may name them."""
_CALLED = {"ignore-case": "ignore_case", "replace": "old and new", "patch": "diff", "as-of": "as_of"}
_CALLED |= {"C": "context", "F": "fixed", "i": "ignore_case", "n": "limit"}
_OPTION = re.compile(r"(?<![\w-])(?:--(?P<long>[a-z][a-z-]+)|-(?P<short>[FinC]))(?:[= ][A-Z]+\b)*")
_COMMAND = re.compile(r"`mem (?P<name>[a-z-]+)[^`]*`")
_TOOLS = {name: f"memory_{name}" for name in ("search", "read", "write", "edit", "ls", "grep", "promote", "recall")}
_TOOLS["forget"] = "memory_delete"


def json_reply(document: dict[str, Any]) -> str:
    """Write a JSON document as the commands do."""
    text = json.dumps(document, ensure_ascii=False)
    return re.sub(r"[\x7f-\x9f]", lambda found: f"\\u{ord(found[0]):04x}", text)


def failed(error: MemError, name: str, words: Sequence[str] = ()) -> Any:
    """Return a tool's error: what went wrong and what mends it, in the words of the tools.

    `words` are the arguments, whose secrets a message must not repeat.
    """
    from mcp.types import CallToolResult, TextContent

    message, fix = unsaid(error.message, words), unsaid(error.fix, words)
    told = ": ".join(part for part in (in_tool_words(message), fix_for(fix, name)) if part)
    # Raised, it would get the SDK's own words before it.
    return CallToolResult(content=[TextContent(type="text", text=told)], is_error=True)


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

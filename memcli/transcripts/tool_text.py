"""Turn what tools print and are given into text that can be kept: readable, and no longer than it is worth."""

import json
import re
from collections.abc import Mapping
from typing import Any

from ..formats.session_event import sound

LIMIT = 2000
"""Characters kept of what a tool was given or answered."""

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
_BASE64 = re.compile(r"(?:data:[\w.+/-]{1,80};base64,)[A-Za-z0-9+/=]{40,}|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{600,}={0,2}")
_COMMAND_KEYS = ("command", "cmd", "script")
_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da)?sh$")


def clean(text: str) -> str:
    """Take out what drives terminals and what no text holds; newlines become `\\n`."""
    text = sound(text.replace("\r\n", "\n"))
    if _CONTROL.search(text):
        text = _ESCAPE.sub("", text).replace("\r", "\n")
        text = _CONTROL.sub("", text)
    return text


def output(text: str, limit: int = LIMIT) -> str:
    """Make what a tool answered fit to keep: bytes and base64 are only named, a long text loses its middle."""
    sample = _ESCAPE.sub("", text[:20_000])
    if len(_NO_TEXT.findall(sample.replace("\r", ""))) > len(sample) // 10:
        return f"[binary, {len(text)} characters]"
    return cut(_BASE64.sub("[base64]", clean(text)).strip(), limit)


def cut(text: str, limit: int = LIMIT) -> str:
    """Keep both ends of a text that is too long: errors stand at the end."""
    if len(text) <= limit:
        return text
    note = f"\n… [{len(text) - limit} characters left out] …\n"
    head = (limit - len(note)) * 3 // 4
    return text[:head] + note + text[len(text) - (limit - len(note) - head) :]


def command_of(given: Any) -> str:
    """Return the command line a tool was called with; empty where it was given something else."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ""
    if not isinstance(given, Mapping):
        return ""
    found = next((given[key] for key in _COMMAND_KEYS if given.get(key)), "")
    if isinstance(found, list):
        words = [str(word) for word in found]
        # ["bash", "-lc", "make test"] is what a person would type as make test
        shell = len(words) == 3 and _SHELL.match(words[0]) and words[1] in ("-c", "-lc")
        return words[2] if shell else " ".join(words)
    return found if isinstance(found, str) else ""


def given(value: Any) -> str:
    """Write what a tool was called with: its command where it has one, else its arguments as JSON."""
    command = command_of(value)
    if command or isinstance(value, str):
        return cut(_BASE64.sub("[base64]", clean(command or value)).strip())
    if value in (None, {}, []):
        return ""
    return cut(_BASE64.sub("[base64]", clean(json.dumps(value, ensure_ascii=False))))

"""The action moment: the rules about the file or command that an agent is about to use."""

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from .commands import Step, parse_command
from .lookup import Find, Memory, Places, Rated, build_context
from .match import ENOUGH, Rule, is_match, list_implied, list_words, rate
from .shown import Shown

Tool = Mapping[str, Any]
EDIT_KEYS = ("file_path", "notebook_path", "path", "filePath")
COMMAND_KEYS = ("command", "cmd", "script")
PATCHED_FILE = re.compile(r"(?m)^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+?)\s*$")


def build_action_context(
    places: Places, folder: str, tool: Tool, shown: Shown, *, tokens: int, now: str
) -> str:
    """Return the rules about an action as text for the agent, or an empty string.

    `tool` holds the arguments of the tool call; `now` is the time as memories store it.
    """
    steps = parse_action(tool, folder)
    if not steps:
        return ""

    def rate_all(find: Find) -> Iterable[Rated]:
        return rate_memories(find, steps, folder)

    kind = "command" if any(step.program for step in steps) else "file"
    about = f"From long-term memory, about this {kind}:"
    return build_context(places, rate_all, shown, about, tokens=tokens, now=now)


def parse_action(tool: Tool, folder: str) -> list[Step]:
    """Return the steps of a tool call: files that it changes and programs that it runs."""
    paths = [tool[key] for key in EDIT_KEYS if isinstance(tool.get(key), str)]
    steps: list[Step] = []
    for value in map(tool.get, COMMAND_KEYS):
        # Codex passes a list: the shell, its options, the command.
        text = value[-1] if isinstance(value, list) and value else value
        if isinstance(text, str):
            patched = PATCHED_FILE.findall(text)
            if patched:
                paths += patched
            else:
                steps += parse_command(text, folder)
    for path in paths:
        steps.append(Step(paths=(os.path.normpath(os.path.join(folder, path)),)))
    # Rules name files as seen from the top of the repository.
    top = f"{find_repository(folder) or folder.rstrip('/')}/"
    return [
        step._replace(paths=tuple(path.removeprefix(top) for path in step.paths)) for step in steps
    ]


def find_repository(folder: str) -> str:
    """Return the nearest folder with `.git`, or an empty string."""
    while not os.path.exists(f"{folder}/.git"):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def rate_memories(find: Find, steps: Sequence[Step], folder: str) -> Iterable[Rated]:
    """Yield the rules about an action, with their ratings."""
    names = {part for step in steps for path in step.paths for part in path.split("/") if part}
    words = [word for step in steps for word in (*list_words(step), *list_implied(step))]
    memories = find([*names, *words], names)
    rules = [Rule(memory.text, memory.type, memory.files) for memory in memories]
    counts = Counter(word for rule in rules for word in rule.stems)
    flags = {flag for step in steps for flag in step.flags}
    for memory, rule in zip(memories, rules, strict=True):
        is_followed = rule.advised and rule.advised <= flags
        rating = max(rate(step, rule, lambda word: counts[word] ** -0.5) for step in steps)
        if rating >= ENOUGH and not is_followed:
            yield rating, memory, build_note(memory, steps, folder)


def build_note(memory: Memory, steps: Iterable[Step], folder: str) -> str:
    """Return a note if a file changed after a memory about it was written.

    Not in a repository: a checkout gives every file a new time, and asking git takes too long here.
    """
    if not memory.files or find_repository(folder):
        return ""
    for path in (path for step in steps for path in step.paths):
        if any(is_match(pattern, path) for pattern in memory.files):
            with suppress(OSError, ValueError):
                changed = time.gmtime(os.stat(os.path.join(folder, path)).st_mtime)
                if time.strftime("%Y-%m-%dT%H:%M:%SZ", changed) > memory.updated_at:
                    return f"{path} changed since this was written"
    return ""

"""The action moment: the rules about the file or command that an agent is about to use."""

import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from .commands import Command, parse_command
from .lookup import Lookup, Memory, Place, Rated, build_context
from .match import (
    ABOUT_ERROR,
    ENOUGH,
    LANGUAGES,
    find_topics,
    is_about_file,
    is_match,
    prepare,
    rate_command,
    split_name,
)
from .shown import Shown

EDIT_KEYS = ("file_path", "notebook_path", "path", "filePath")
COMMAND_KEYS = ("command", "cmd", "script")
PATCHED_FILE = re.compile(r"(?m)^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+?)\s*$")


class Action(NamedTuple):
    """What an agent is about to do."""

    paths: tuple[str, ...] = ()  # files to be changed, relative to the repository or folder
    commands: tuple[Command, ...] = ()


def build_action_context(
    places: Sequence[Place],
    folder: str,
    tool: Mapping[str, Any],
    shown: Shown,
    *,
    tokens: int,
    now: str,
) -> str:
    """Return the rules about an action as text for the agent, or an empty string.

    `tool` holds the arguments of the tool call; `now` is the time as memories store it.
    """
    action = parse_action(tool, folder)
    if not any(action):
        return ""

    def rate(lookup: Lookup) -> Iterable[Rated]:
        for memory, rating in rate_memories(lookup, action):
            yield Rated(rating, memory, build_note(memory, action, folder))

    about = f"From long-term memory, about this {'command' if action.commands else 'file'}:"
    return build_context(places, rate, shown, about=about, tokens=tokens, now=now)


def parse_action(tool: Mapping[str, Any], folder: str) -> Action:
    """Return what a tool call does to files, and which programs it runs."""
    paths: list[str] = [str(tool[key]) for key in EDIT_KEYS if isinstance(tool.get(key), str)]
    commands: list[Command] = []
    for value in map(tool.get, COMMAND_KEYS):
        # Codex passes a list: the shell, its options, the command.
        text = value[-1] if isinstance(value, list) and value else value
        if not isinstance(text, str):
            continue
        patched = PATCHED_FILE.findall(text)
        paths += patched
        commands += [] if patched else parse_command(text)
    for command in commands:
        paths += [os.path.join(command.folder, path) for path in command.paths]
    top = f"{find_repository(folder) or folder.rstrip('/')}/"
    full_paths = [os.path.normpath(os.path.join(folder, path)) for path in paths]
    return Action(
        tuple(dict.fromkeys(path.removeprefix(top) for path in full_paths)),
        tuple(dict.fromkeys(commands)),
    )


def find_repository(folder: str) -> str:
    """Return the nearest folder with `.git`, or an empty string."""
    while not os.path.exists(f"{folder}/.git"):
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)
    return folder


def rate_memories(lookup: Lookup, action: Action) -> Iterable[tuple[Memory, float]]:
    """Yield the rules about an action, with their ratings."""
    files, counts = lookup.find_all(list_cues(action))
    names = {part for path in action.paths for part in path.split("/") if part}
    files.update(dict.fromkeys(lookup.find_by_files(names) if names else ()))
    for file in files:
        memory = lookup.load(file)
        if memory.type == "lesson" and ABOUT_ERROR.search(memory.text):
            continue
        text = prepare(memory.text, memory.type)
        is_about = any(is_about_file(path, text, memory.files, counts) for path in action.paths)
        ratings = [rate_command(item, text, memory.files, counts) for item in action.commands]
        rating = max([2 * ENOUGH * is_about, *ratings])
        if rating >= ENOUGH:
            yield memory, rating


def list_cues(action: Action) -> Iterable[str]:
    """Yield the phrases to look up, the most telling first."""
    for path in action.paths:
        yield path.rpartition("/")[2]
    for command in action.commands:
        yield from (f"{command.program} {head}" for head in command.heads)
        yield from (command.program, *command.flags, *command.words)
        yield from find_topics(command)
    for path in action.paths:
        yield from split_name(path)
        ending = path.rpartition(".")[2].lower()
        yield from (ending, LANGUAGES.get(ending, ending))
    for command in action.commands:
        for word in (command.program, *command.heads, *command.words, *command.flags):
            yield from split_name(word)


def build_note(memory: Memory, action: Action, folder: str) -> str:
    """Say that a file changed after a memory about it was written.

    In a repository only git knows: a checkout gives every file a new time. Git is too slow here.
    """
    if not memory.files or find_repository(folder):
        return ""
    for path in action.paths:
        if any(is_match(pattern, path) for pattern in memory.files):
            with suppress(OSError, ValueError):
                changed = time.gmtime(os.stat(os.path.join(folder, path)).st_mtime)
                if time.strftime("%Y-%m-%dT%H:%M:%SZ", changed) > memory.updated_at:
                    return f"{path} changed since this was written"
    return ""

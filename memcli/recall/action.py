"""The moments around a tool call: rules before it, and lessons after it failed."""

import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..formats import WORD, cut_middle
from .lookup import Find, Memory, Places, Rated, build_context
from .match import (
    ENOUGH,
    WORDS,
    Rule,
    Step,
    has_program,
    is_match,
    list_implied,
    list_words,
    parse_command,
    rate,
    stem,
)
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


ERROR_START, ERROR_END = 300, 1_200  # characters of an error that are compared
WORD_WEIGHT, COMMAND_WEIGHT, MOST_RULES_OF_A_WORD = 0.35, 0.7, 6
TYPES = ("lesson", "correction", "procedure")
# Names that programs print: paths, modules, codes such as E0382 or ECONNREFUSED, camelCase.
NAME = re.compile(
    r"[\w.-]+(?=: (?:command )?not found)|[\w@-]*[\w-](?:[./:]+[\w-]+)+|\w*[a-z][A-Z]\w*|\w*_\w+"
    r"|\b[A-Z]+\d\d+\b|[A-Z]{5,}|\w+-\w[\w-]*"
)
COMMON = WORDS["errors"] | WORDS["function_words"]


def build_failure_context(
    places: Places, folder: str, tool: Tool, error: str, shown: Shown, *, tokens: int, now: str
) -> str:
    """Return the lessons about a failed command as text for the agent, or an empty string."""
    steps = parse_action(tool, folder)
    error = cut_middle(error, ERROR_START, ERROR_END, mark="\n")

    def rate_all(find: Find) -> Iterable[Rated]:
        return rate_lessons(find, steps, error)

    about = "From long-term memory, about this failure:"
    return build_context(places, rate_all, shown, about, tokens=tokens, now=now)


def rate_lessons(find: Find, steps: Sequence[Step], error: str) -> Iterable[Rated]:
    """Yield the lessons that share enough with an error and its command, with their ratings."""
    # Rules that share words with the command were shown before it ran, at the action moment.
    command = {word for step in steps for word in (step.program, *step.words)}
    names = []
    for name in find_names(error):
        ignored = command if name.isupper() else ()
        if is_telling(name, ignored):
            names.append(name)
    words = [word for word in find_words(error) if is_telling(word, command)]
    memories = find([*(step.program for step in steps), *names, *words], ())
    rules = [Rule(memory.text, memory.type) for memory in memories]
    counts = Counter(word for rule in rules for word in rule.stems)
    rare = {stem(word) for word in words if counts[stem(word)] <= MOST_RULES_OF_A_WORD}
    for memory, rule in zip(memories, rules, strict=True):
        rating = rate_error(set(names), rare, error, rule)
        if rating and any(has_program(step, rule) for step in steps):
            rating += COMMAND_WEIGHT
        if rating >= ENOUGH and memory.type in TYPES:
            yield rating, memory, ""


def find_names(error: str) -> list[str]:
    """Return the names in an error, and the class of `java.lang.OutOfMemoryError`."""
    names = NAME.findall(error)
    parts = [name.rpartition(".")[2] for name in names]
    return names + [part for part in parts if re.search("[a-z][A-Z]", part)]


def find_words(error: str) -> list[str]:
    """Return the words of an error without paths, which say where it happened, not what."""
    return WORD.findall(re.sub(r"[\w.@-]*/\S*", " ", error).lower())


def is_telling(word: str, ignored: Collection[str] = ()) -> bool:
    """Return whether a word says something about an error: it is not short, common or ignored."""
    is_common = word.lower() in COMMON or word.lower() in ignored
    return len(word) > 2 and not word.isdigit() and not is_common


def rate_error(names: Iterable[str], rare: Collection[str], error: str, rule: Rule) -> float:
    """Rate a rule by the names, word sequences and rare words that it shares with an error."""
    rating = WORD_WEIGHT * len(rule.stems.intersection(rare))
    for name in names:
        # FLASH is the name of something else than `flash`.
        case = "" if name.isupper() else "(?i)"
        if re.search(rf"{case}(?<!\w){re.escape(name)}(?!\w)", rule.text):
            # A folder says where the error happened, not what it is.
            rating += WORD_WEIGHT if "/" in name and "." not in name else 1.0
    # Three words in the same order are hardly a coincidence.
    return rating + bool(list_sequences(error) & list_sequences(rule.text))


def list_sequences(text: str) -> set[tuple[str, ...]]:
    """Return the sequences of three words with at least one telling word."""
    words = find_words(text)
    triples = {tuple(words[start : start + 3]) for start in range(len(words) - 2)}
    return {triple for triple in triples if any(map(is_telling, triple))}

"""Choose rules to show before a tool call, and lessons to show after a tool call that failed.

A rule is shown if it fits a step of the call: a file that it changes or a program that it runs. A
lesson is shown if it shares names, rare words or sequences of words with the error.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ..formats import WORD, cut_middle
from .lookup import Find, Memory, Places, RatedMemory, Shown, build_context
from .match import (
    ABOUT,
    ENOUGH,
    WORDS,
    Rule,
    Step,
    compare_program,
    is_match,
    list_implied,
    list_words,
    parse_command,
    rate_rule,
    stem_word,
)

Tool = Mapping[str, Any]
EDIT_KEYS = ("file_path", "notebook_path", "path", "filePath")
COMMAND_KEYS = ("command", "cmd", "script")
# `*** Update File: src/app.py` in a patch of Codex.
PATCHED_FILE = re.compile(r"(?m)^\*\*\* (?:(?:Update|Add|Delete) File|Move to): (.+?)\s*$")

TYPES = ("lesson", "correction", "procedure")  # of memories about failures
ERROR_START = 300  # characters of an error that are compared
ERROR_END = 1_200
# Three rare words are enough, and next to the name of the command, one.
WORD_WEIGHT = 0.35
COMMAND_WEIGHT = 0.7
MOST_RULES_OF_A_WORD = 6  # a word that more rules have says little
COMMON = WORDS["errors"] | WORDS["function_words"]
# Names that programs print: paths, modules, codes such as E0382 or ECONNREFUSED, camelCase.
NAME = re.compile(
    r"[\w.-]+(?=: (?:command )?not found)|[\w@-]*[\w-](?:[./:]+[\w-]+)+|\w*[a-z][A-Z]\w*|\w*_\w+"
    r"|\b[A-Z]+\d\d+\b|[A-Z]{5,}|\w+-\w[\w-]*"
)
CLASS_NAME = re.compile(r"(?<=\.)\w*[a-z][A-Z]\w*")  # of java.lang.OutOfMemoryError
PATH = re.compile(r"[\w.@-]*/\S*")


def build_action_context(
    places: Places, folder: str, tool: Tool, shown: Shown, *, tokens: int, now: str
) -> str:
    """Return the rules about an action as text for the agent.

    `tool` holds the arguments of the tool call; `now` is the time as memories store it.
    """
    steps = parse_action(tool, folder)
    if not steps:
        return ""
    rate = partial(rate_rules, steps=steps, folder=folder)
    kind = "command" if any(step.program for step in steps) else "file"
    about = f"From long-term memory, about this {kind}:"
    return build_context(places, rate, shown, about, tokens=tokens, now=now)


def build_failure_context(
    places: Places, folder: str, tool: Tool, error: str, shown: Shown, *, tokens: int, now: str
) -> str:
    """Return the lessons about a failed command as text for the agent."""
    steps = parse_action(tool, folder)
    # The cause is usually at the end, and the start names the step.
    error = cut_middle(error, ERROR_START, ERROR_END, mark="\n")
    rate = partial(rate_lessons, steps=steps, error=error)
    about = "From long-term memory, about this failure:"
    return build_context(places, rate, shown, about, tokens=tokens, now=now)


def parse_action(tool: Tool, folder: str) -> list[Step]:
    """Return the steps of a tool call: files that it changes and programs that it runs."""
    paths = [tool[key] for key in EDIT_KEYS if isinstance(tool.get(key), str)]
    steps: list[Step] = []
    for key in COMMAND_KEYS:
        command = tool.get(key)
        # Codex passes a list: the shell, its options, the command.
        if isinstance(command, list) and command:
            command = command[-1]
        if not isinstance(command, str):
            continue
        patched_files = PATCHED_FILE.findall(command)
        if patched_files:
            paths += patched_files
        else:
            steps += parse_command(command, folder)
    for path in paths:
        full_path = os.path.normpath(os.path.join(folder, path))
        steps.append(Step(paths=(full_path,)))
    # Rules name files as seen from the top of the repository.
    top = f"{find_repository_folder(folder) or folder.rstrip('/')}/"
    return [
        step._replace(paths=tuple(path.removeprefix(top) for path in step.paths)) for step in steps
    ]


def find_repository_folder(folder: str) -> str:
    """Return the nearest folder with `.git`, or an empty string."""
    while not os.path.exists(f"{folder}/.git"):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    return folder


def rate_rules(find: Find, steps: Sequence[Step], folder: str) -> Iterator[RatedMemory]:
    """Yield the rules about an action, with their ratings."""
    names: set[str] = set()
    flags: set[str] = set()
    words: list[str] = []
    for step in steps:
        flags |= step.flags
        words += list_words(step)
        words += list_implied(step)
        for path in step.paths:
            names.update(path.split("/"))
    names.discard("")
    memories = find([*names, *words, *flags], names)
    rules, counts = prepare_rules(memories)
    for memory, rule in zip(memories, rules, strict=True):
        if rule.advised and rule.advised <= flags:
            continue  # the action follows the rule
        rating = max(rate_rule(step, rule, counts) for step in steps)
        if rating >= ENOUGH:
            yield RatedMemory(rating, memory, describe_change(memory, steps, folder))


def prepare_rules(memories: Sequence[Memory]) -> tuple[list[Rule], Counter[str]]:
    """Return memories as rules, and how many of them have each stem."""
    rules = [Rule(memory.text, memory.type, memory.files) for memory in memories]
    return rules, Counter(stem for rule in rules for stem in rule.stems)


def describe_change(memory: Memory, steps: Sequence[Step], folder: str) -> str:
    """Return a note if a file changed after a memory about it was written.

    Not in a repository: a checkout gives every file a new time, and asking git takes too long here.
    """
    if not memory.files or find_repository_folder(folder):
        return ""
    paths = [path for step in steps for path in step.paths]
    for path in paths:
        is_about = any(is_match(pattern, path) for pattern in memory.files)
        if is_about and is_newer(os.path.join(folder, path), memory.updated_at):
            return f"{path} changed since this was written"
    return ""


def is_newer(path: str, updated_at: str) -> bool:
    """Return whether a file was changed after a time."""
    try:
        changed = time.gmtime(os.stat(path).st_mtime)
    except (OSError, ValueError):
        return False
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", changed) > updated_at


def rate_lessons(find: Find, steps: Sequence[Step], error: str) -> Iterator[RatedMemory]:
    """Yield the lessons that share enough with an error and its command, with their ratings."""
    programs = [step.program for step in steps]
    names = NAME.findall(error) + CLASS_NAME.findall(error)
    names = list(filter(is_telling, names))
    words = list(filter(is_telling, find_words(error)))
    # Rules that share words with the command were shown before it ran, at the action moment.
    for step in steps:
        words = [word for word in words if word != step.program and word not in step.words]
    memories = find([*programs, *names, *words], ())
    rules, counts = prepare_rules(memories)
    stems = {stem_word(word) for word in words}
    rare = {stem for stem in stems if counts[stem] <= MOST_RULES_OF_A_WORD}
    for memory, rule in zip(memories, rules, strict=True):
        rating = rate_error(set(names), rare, error, rule)
        if rating and any(compare_program(step, rule) == ABOUT for step in steps):
            rating += COMMAND_WEIGHT
        if rating >= ENOUGH and memory.type in TYPES:
            yield RatedMemory(rating, memory, "")


def find_words(error: str) -> list[str]:
    """Return the words of an error without paths, because paths only name the place."""
    return WORD.findall(PATH.sub(" ", error).lower())


def is_telling(word: str) -> bool:
    """Return whether a word says something about an error: it is not short or common."""
    return len(word) > 2 and not word.isdigit() and word.lower() not in COMMON


def rate_error(names: Collection[str], rare: Collection[str], error: str, rule: Rule) -> float:
    """Rate a rule by the names and words that it shares with an error."""
    rating = WORD_WEIGHT * len(rule.stems.intersection(rare))
    for name in names:
        # FLASH is the name of something else than `flash`.
        case = "" if name.isupper() else "(?i)"
        if not re.search(rf"{case}(?<!\w){re.escape(name)}(?!\w)", rule.text):
            continue
        # A folder says where the error happened, not what it is.
        is_folder = "/" in name and "." not in name
        rating += WORD_WEIGHT if is_folder else 1.0
    # Three words in the same order are hardly a coincidence.
    if list_sequences(error) & list_sequences(rule.text):
        rating += 1
    return rating


def list_sequences(text: str) -> set[tuple[str, ...]]:
    """Return the sequences of three words with at least one telling word."""
    words = find_words(text)
    sequences = zip(words, words[1:], words[2:], strict=False)
    return {words for words in sequences if any(map(is_telling, words))}

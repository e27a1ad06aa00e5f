"""Take a shell command apart into steps: each program with its words, flags and files.

Used before every command of an agent, so it imports nothing that is slow to load.
"""

import os
import re
from collections.abc import Sequence, Set
from itertools import pairwise
from typing import NamedTuple

LONGEST = 4_000  # characters of a command line
MOST_WORDS = 30  # of one program
FIRST_WORDS = 4  # among which a subcommand is
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2[ \t]*$", re.DOTALL | re.MULTILINE)
# The command that a shell or another host runs.
INNER = re.compile(r"\b(?:(ssh (?:-\S+ )*[\w.@-]+)|(?:ba|z)?sh -\w*c) (['\"])(.*?)\2", re.DOTALL)
NO_WORD = re.compile(r"\\\n|\d?>&\d|&(?=>)")  # a joined line, and streams such as `2>&1`
QUOTED = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s;|&()<>'"\\])+"""
SHELL_WORD = re.compile(rf"{QUOTED}|[;|&()\n]+|[<>]+", re.DOTALL)
QUOTE = re.compile(r"\\(.)|[\"']")
FLAG = re.compile(r"(-\w(?=\d+$)|-[^=]+)=?(.*)", re.DOTALL)  # -j8 is the flag -j


def read_words() -> dict[str, frozenset[str]]:
    """Read the lists of words: paragraphs of a name, a colon and the words."""
    path = os.path.join(os.path.dirname(__file__), "..", "data", "action_words.txt")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    lists = [paragraph.partition(":") for paragraph in text.split("\n\n")]
    return {name.strip(): frozenset(words.split()) for name, _, words in lists}


WORDS = read_words()


class Step(NamedTuple):
    """One thing that an action does: it changes a file, or runs a program."""

    program: str = ""  # without its folder; empty if a file is changed
    words: tuple[str, ...] = ()  # subcommands, targets and other arguments
    flags: frozenset[str] = frozenset()  # and variables: VCR=all
    paths: tuple[str, ...] = ()  # files that it may change


def parse_command(text: str, folder: str) -> list[Step]:
    """Return the programs of a command line, except those that only read."""
    # A here-document is the text of a file, not a command.
    line = INNER.sub(r"\1 ; \3 ; ", HEREDOC.sub(r"\3", text[:LONGEST]))
    steps: list[Step] = []
    part: list[str] = []
    for quoted in [*SHELL_WORD.findall(NO_WORD.sub(" ", line)), ";"]:
        if quoted[0] not in ";|&()\n":
            part.append(QUOTE.sub(r"\1", quoted))
            continue
        step = build_step(part, folder)
        if step.program or step.paths:
            steps.append(step)
        if part[:1] == ["cd"]:
            folder = os.path.join(folder, part[-1])
        part = []
    return steps


def build_step(part: list[str], folder: str) -> Step:
    """Build a step from the words of a command. One that only reads has no program."""
    part, variables = remove_wrappers(part)
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", get_program_name(part[0])) if part else ""
    flags = set(variables)
    words: list[str] = []
    changed: list[str] = []
    for previous, word in pairwise(part[:MOST_WORDS]):
        argument = word
        flag = FLAG.fullmatch(word)
        if flag:
            flags.add(flag[1])
            if len(flag[1]) < 4:
                flags.update(f"-{letter}" for letter in flag[1][1:])  # -xvf is -x -v -f
            argument = flag[2]
        if previous.startswith(">"):
            changed.append(word)
        elif argument and " " not in argument and argument[0] not in "<>":
            words.append(argument)
    if program == "git" and "-f" in flags:
        flags.add("--force")
    if is_reading(program, words, flags):
        program, words = "", []
    for word in words:
        # Most other programs take names, which can be those of folders: `git switch docs`.
        if program in WORDS["writing"] or "/" in word or "." in word:
            changed.append(word)
    paths = tuple(os.path.normpath(os.path.join(folder, path)) for path in changed)
    return Step(program, tuple(words), frozenset(flags), paths)


def remove_wrappers(part: list[str]) -> tuple[list[str], list[str]]:
    """Return a command without `sudo`, `uv run` and the like, and the variables it is given."""
    variables = []
    while part:
        is_runner = "+".join(part[:2]) in WORDS["runners"]
        if re.match(r"\w+=", part[0]):
            variables.append(part[0])
        elif not (is_runner or is_wrapper(part[0])):
            break
        part = part[2:] if is_runner else part[1:]
    return part, variables


def is_wrapper(word: str) -> bool:
    """Return whether a word is a program that runs another, or an option or number for it."""
    name = get_program_name(word)
    return name in WORDS["wrappers"] or bool(re.match(r"-|\d+$", name))


def get_program_name(word: str) -> str:
    return word.rpartition("/")[2].strip(".")


def is_reading(program: str, words: Sequence[str], flags: Set[str]) -> bool:
    """Return whether a command only reads, as `git log`, `make -n` or `sed` without -i do."""
    if not program or program in WORDS["reading"] or flags & WORDS["harmless_flags"]:
        return True
    if program == "sed" and "-i" not in flags:
        return True
    return not WORDS["reading_subcommands"].isdisjoint(words[:FIRST_WORDS])

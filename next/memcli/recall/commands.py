"""Take a shell command apart into steps: each program with its words, flags and files.

Used before every command of an agent, so it imports nothing that is slow to load.
"""

import os
import re
from itertools import pairwise
from typing import NamedTuple

LONGEST, MOST_WORDS = 4_000, 30
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
    # The text of a new file is no command.
    line = INNER.sub(r"\1 ; \3 ; ", HEREDOC.sub(r"\3", text[:LONGEST]))
    steps: list[Step] = []
    part: list[str] = []
    for quoted in [*SHELL_WORD.findall(NO_WORD.sub(" ", line)), ";"]:
        if quoted[0] not in ";|&()\n":
            part.append(QUOTE.sub(r"\1", quoted))
            continue
        step = build_step(part, folder)
        steps += [step] if step.program or step.paths else []
        if part[:1] == ["cd"]:
            folder = os.path.join(folder, part[-1])
        part = []
    return steps


def build_step(part: list[str], folder: str) -> Step:
    """Build a step from the words of a command, without `sudo` and the like."""
    flags: set[str] = set()
    while part:
        is_runner = "+".join(part[:2]) in WORDS["runners"]
        name = part[0].rpartition("/")[2].strip(".")
        if re.match(r"\w+=", part[0]):
            flags.add(part[0])
        elif not (is_runner or name in WORDS["wrappers"] or re.match(r"-|\d+$", name)):
            break
        part = part[1 + is_runner :]
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", name) if part else ""
    words: list[str] = []
    changed: list[str] = []
    for previous, word in pairwise(part[:MOST_WORDS]):
        flag = FLAG.fullmatch(word)
        if flag:
            flags.update((flag[1], *(f"-{letter}" for letter in flag[1][1:] if len(flag[1]) < 4)))
        argument = flag[2] if flag else word
        if previous.startswith(">"):
            changed.append(word)
        elif argument and " " not in argument and argument[0] not in "<>":
            words.append(argument)
    flags |= {"--force"} if program == "git" and "-f" in flags else set()
    reading = {*words[:4]} & WORDS["reading_subcommands"] | flags & WORDS["harmless_flags"]
    is_print = not program or (program == "sed" and "-i" not in flags)
    if reading or is_print or program in WORDS["reading"]:
        program, words = "", []
    # The name of a subcommand or branch can be that of a folder.
    changed += [word for word in words if program in WORDS["writing"] or re.search("[/.]", word)]
    paths = tuple(os.path.normpath(os.path.join(folder, path)) for path in changed)
    return Step(program, tuple(words), frozenset(flags), paths)

"""Take a shell command apart into steps: each program with its words, flags and files.

Used before every command of an agent, so it imports nothing that is slow to load.
"""

import os
import re
import shlex
from typing import NamedTuple

LONGEST, MOST_WORDS, MOST_DEPTH = 4_000, 12, 3
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2[ \t]*$", re.DOTALL | re.MULTILINE)
SEPARATOR = re.compile(r"[;|&()]+")
ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
FLAG = re.compile(r"(-\w(?=\d+$)|-[^=]+)=?(.*)", re.DOTALL)  # -j8 is the flag -j
SSH_HOST = re.compile(r"(?:-[pilojLRJF] \S+ |-\S+ )*\S+")
PATH = re.compile(r".*[\w.*]/.*|/.*|.*\w\.\w.*")


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

    program: str = ""  # without its folder; empty if a file is edited
    words: tuple[str, ...] = ()  # subcommands, targets and other arguments
    flags: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()  # files that it changes or names
    variables: tuple[str, ...] = ()  # that are set for it


def parse_command(text: str, folder: str = "", depth: int = 0) -> list[Step]:
    """Return the programs of a command line, except those that only read."""
    # The text of a new file is no command.
    line = HEREDOC.sub(r"\3", text[:LONGEST]).replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        # A quote without its end. The beginning is still worth something.
        words = re.sub(r"([;|&()<>]+)", r" \1 ", re.sub("['\"]", " ", line)).split()
    steps: list[Step] = []
    part: list[str] = []
    for word in [*words, ";"]:
        if not SEPARATOR.fullmatch(word):
            part.append(word)
            continue
        steps += parse_part(part, folder, depth)
        if part[:1] == ["cd"]:
            folder = os.path.join(folder, part[-1])
        part = []
    return steps


def parse_part(words: list[str], folder: str, depth: int) -> list[Step]:
    """Return the programs of one part of a pipe or list, without `sudo` and the like."""
    variables: list[str] = []
    is_wrapped = False
    while words:
        is_runner = "+".join(words[:2]) in WORDS["runners"]
        if ASSIGNMENT.fullmatch(words[0]):
            variables.append(words[0])
        elif is_runner or words[0].rpartition("/")[2] in WORDS["wrappers"]:
            is_wrapped = True
        elif not is_wrapped or not (words[0].startswith("-") or words[0].isdigit()):
            break
        words = words[1 + is_runner :]
    if not words or depth > MOST_DEPTH:
        return []
    if is_wrapped and " " in words[0]:
        return parse_command(words[0], folder, depth + 1)  # bash -c
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", words[0].rpartition("/")[2])
    step = build_step(program, words[1:], folder)
    steps = [step._replace(variables=tuple(variables))] if step.program or step.paths else []
    if step.program == "ssh":
        steps += parse_command(SSH_HOST.sub("", " ".join(words[1:]), count=1), "", depth + 1)
    return steps


def build_step(program: str, arguments: list[str], folder: str) -> Step:
    words: list[str] = []
    flags: set[str] = set()
    paths: list[str] = []
    previous = ""
    for word in arguments:
        flag = FLAG.fullmatch(word) if word.startswith("-") else None
        if flag:
            flags.add(flag[1])
            flags.update(f"-{letter}" for letter in flag[1][1:] if len(flag[1]) < 4)
            words += [flag[2]] if flag[2] else []
        elif previous.startswith(">"):
            paths.append(word)
        elif not word.startswith((">", "<")) and " " not in word:  # a message, or a script
            words.append(word)
        previous = word
    words = words[:MOST_WORDS]
    if program == "git" and "-f" in flags:
        flags.add("--force")
    if (
        program in WORDS["reading"]
        or not WORDS["reading_subcommands"].isdisjoint(words[:4])
        or not WORDS["harmless_flags"].isdisjoint(flags)
        or (program == "sed" and "-i" not in flags)
    ):
        program, words, flags = "", [], set()
    elif program in WORDS["writing"]:
        paths += words
    else:
        paths += filter(PATH.fullmatch, words)
    full_paths = [os.path.normpath(os.path.join(folder, path)) for path in paths]
    return Step(program, tuple(words), frozenset(flags), tuple(full_paths))

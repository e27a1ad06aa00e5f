"""Take a shell command apart: its programs, their words, flags and files.

Used before every command of an agent, so it imports nothing that is slow to load.
"""

import os
import re
import shlex
from typing import NamedTuple

LONGEST, MOST_WORDS, MOST_HEADS, MOST_DEPTH = 4_000, 12, 2, 3
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2[ \t]*$", re.DOTALL | re.MULTILINE)
SEPARATOR = re.compile(r"[;|&()]+")
ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
SUBCOMMAND = re.compile(r":?[a-zA-Z]\w*(?:[:-][a-zA-Z0-9]+)*")
SPLIT_FLAG = re.compile(r"(-\w(?=\d+$)|[^=]+)=?(.*)", re.DOTALL)  # -j8 is the flag -j
SHORT_FLAGS = re.compile(r"-[a-zA-Z]{2,3}")
SAME_FLAG = {"-f": "--force", "-m": "--message"}
SQL = re.compile(r"(?i)\s*(select|insert|update|delete|drop|truncate|alter|create)\b")
TABLE = re.compile(r"(?i)\b(?:from|update|into|join|table|truncate)\s+[\"`]?([a-z]\w{2,})")
SSH_HOST = re.compile(r"(?:-[pilojLRJF] \S+ |-\S+ )*\S+")


def read_words() -> dict[str, frozenset[str]]:
    """Read the lists of words: paragraphs of a name, a colon and the words."""
    path = os.path.join(os.path.dirname(__file__), "..", "data", "action_words.txt")
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"(?m)^#.*\n", "", file.read())
    lists = [paragraph.partition(":") for paragraph in text.split("\n\n")]
    return {name.strip(): frozenset(words.split()) for name, _, words in lists}


WORDS = read_words()


class Command(NamedTuple):
    """One program of a command line."""

    program: str  # without its folder
    words: tuple[str, ...]  # subcommands, targets and other arguments
    flags: tuple[str, ...]
    paths: tuple[str, ...]  # files that it changes
    heads: tuple[str, ...]  # what it does: a script's name, subcommands, tables
    variables: tuple[str, ...] = ()  # that are set for it
    folder: str = ""  # that a `cd` before it enters

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing, so that rules about its files do not matter."""
        has_reading = not WORDS["reading_subcommands"].isdisjoint(self.words[:2])
        return has_reading or self.program in WORDS["reading"]


def parse_command(text: str, depth: int = 0) -> list[Command]:
    """Return the programs of a command line, also those that another one runs."""
    # The text of a new file is no command.
    line = HEREDOC.sub(r"\3", text[:LONGEST]).replace("\\\n", " ").replace("\n", " ; ")
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        # A quote without its end. The beginning is still worth something.
        words = re.sub(r"([;|&()<>]+)", r" \1 ", re.sub("['\"]", " ", line)).split()
    commands: list[Command] = []
    part: list[str] = []
    folder = ""
    for word in [*words, ";"]:
        if not SEPARATOR.fullmatch(word):
            part.append(word)
            continue
        commands += [command._replace(folder=folder) for command in parse_part(part, depth)]
        if part[:1] == ["cd"]:
            folder = part[-1]
        part = []
    return commands


def parse_part(words: list[str], depth: int) -> list[Command]:
    """Return the programs of one part of a pipe or list."""
    words, variables = skip_wrappers(words)
    if not words or depth > MOST_DEPTH:
        return []
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", words[0].rpartition("/")[2])
    arguments = words[1:]
    if program in WORDS["shells"] and arguments:
        has_text = arguments[0].startswith("-") and arguments[0].endswith("c") and arguments[1:]
        return parse_command(arguments[1], depth + 1) if has_text else parse_part(arguments, depth)
    commands = [build_command(program, arguments)]
    group = arguments[0] if arguments else ""
    is_manager = program in WORDS["managers"] and group in ("run", "exec")
    if program == "ssh":
        commands += parse_command(SSH_HOST.sub("", " ".join(arguments), count=1), depth + 1)
    elif is_manager and group == "run" and program in WORDS["script_managers"]:
        pass  # the script is no program
    elif is_manager or (program in WORDS["runners"] and group not in ("-c", "-e")):
        inner = arguments
        while inner and (inner[0] in WORDS["groups"] or inner[0].startswith("-")):
            inner = inner[1:]
        own = arguments[: len(arguments) - len(inner)]
        commands = [build_command(program, own), *parse_part(inner, depth + 1)]
    return [item._replace(variables=(*variables, *item.variables)) for item in commands]


def skip_wrappers(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return a command without `sudo` and the like, and the variables set for it."""
    is_wrapped = False
    variables = []
    while words:
        is_argument = words[0].startswith("-") or words[0].isdigit()
        is_wrapper = words[0].rpartition("/")[2] in WORDS["wrappers"]
        if ASSIGNMENT.fullmatch(words[0]):
            variables.append(words[0])
        elif not (is_wrapper or (is_wrapped and is_argument)):
            break
        is_wrapped |= is_wrapper
        words = words[1:]
    return words, tuple(variables)


def build_command(program: str, arguments: list[str]) -> Command:
    words: list[str] = []
    flags: list[str] = []
    paths: list[str] = []
    heads: list[str] = []
    previous = ""
    has_target = False
    for word in arguments:
        flag, value = split_flag(word)
        if flag:
            flags += [flag, SAME_FLAG.get(flag, flag)]
            if SHORT_FLAGS.fullmatch(flag):
                flags += [f"-{letter}" for letter in flag[1:]]
            words += [value] if value else []
        elif " " in word:  # a message, or a script
            statement = SQL.match(word)
            words += [statement[1].lower()] if statement else []
            heads = TABLE.findall(word) if statement else heads
        elif not word.startswith((">", "<")):
            if previous.startswith(">") or program in WORDS["writing"]:
                paths.append(word)
            words += [word] if program not in WORDS["reading"] else []
            # After `-n` or before a digit it is rather the value of a flag.
            if previous[:1] != "-" or "=" in previous or (previous[1:2] == "-" and word.isalpha()):
                # Subcommands come before the other arguments.
                has_target |= not SUBCOMMAND.fullmatch(word)
                heads += [word] if not has_target else []
        previous = word
    if heads[1:] and heads[0] in WORDS["groups"]:
        heads = heads[1:]  # the `run` of `npm run build` does not say what is done
    return Command(
        program,
        tuple(words[:MOST_WORDS]),
        tuple(dict.fromkeys(flags)),
        tuple(paths),
        tuple(heads[:MOST_HEADS]),
    )


def split_flag(word: str) -> tuple[str, str]:
    """Split a flag and its value. Anything else gives two empty texts."""
    match = SPLIT_FLAG.fullmatch(word) if word.startswith("-") and len(word) > 1 else None
    return (match[1], match[2]) if match else ("", "")

"""Take a shell command apart: its programs, their words, flags and files.

Used before every command of an agent, so it imports nothing that is slow to load.
"""

import re
import shlex
from typing import NamedTuple

LONGEST = 4_000
MOST_WORDS = 12
MOST_DEPTH = 3
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?^\s*\2[ \t]*$", re.DOTALL | re.MULTILINE)
SEPARATOR = re.compile(r"[;|&()]+")
ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)
# Programs that run another one.
WRAPPERS = frozenset("sudo time nohup env command exec xargs nice timeout watch doas".split())
SHELLS = frozenset("bash sh zsh dash".split())
INTERPRETERS = frozenset("python node ruby perl deno bun npx uvx bunx pnpx".split())
RUNNERS = {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("bundle", "exec"), ("npm", "exec")}
READING = frozenset(
    "cat less more head tail ls grep rg find fd wc stat file tree diff echo printf pwd which cd"
    " sort uniq cut awk jq true false sleep test".split()
)
WRITING = frozenset("rm mv cp tee touch chmod chown truncate sed patch ln rmdir mkdir".split())
READING_SUBCOMMANDS = {
    "git": frozenset("log diff show status blame branch remote fetch".split()),
    "kubectl": frozenset("get logs describe top explain".split()),
    "docker": frozenset("ps images logs inspect stats".split()),
}
# Words of `npm run X` and the like that do not say what is done.
GROUPS = frozenset("run exec compose".split())
SUBCOMMAND = re.compile(r"[a-z]+(?:[:-][a-z]+)*")
TABLE = re.compile(r"(?i)\b(?:from|update|into|join|table)\s+(?:only\s+)?[\"`]?([a-z]\w{2,})")
SAME_FLAG = {"-f": "--force", "-m": "--message"}
SAME_PROGRAM = {"python3": "python", "pip3": "pip", "nodejs": "node"}


class Command(NamedTuple):
    """One program of a command line."""

    program: str  # without its folder
    words: tuple[str, ...]  # subcommands, targets and other arguments
    flags: tuple[str, ...]
    paths: tuple[str, ...]  # files that it changes
    heads: tuple[str, ...]  # what it does: its subcommand, the name of a script, tables

    @property
    def is_reading(self) -> bool:
        """Whether it changes nothing, so that rules about its files do not matter."""
        reading = READING_SUBCOMMANDS.get(self.program, frozenset())
        return self.program in READING or any(word in reading for word in self.words[:2])


def parse_command(text: str, depth: int = 0) -> list[Command]:
    """Return the programs of a command line, also those that another one runs."""
    # The text of a new file is no command.
    line = HEREDOC.sub(r"\3", text[:LONGEST]).replace("\\\n", " ").replace("\n", " ; ")
    commands: list[Command] = []
    part: list[str] = []
    for word in [*split_words(line), ";"]:
        if SEPARATOR.fullmatch(word):
            commands += parse_part(part, depth)
            part = []
        else:
            part.append(word)
    return commands


def split_words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        # A quote without its end. The beginning is still worth something.
        return re.sub(r"([;|&()<>]+)", r" \1 ", line.replace("'", " ").replace('"', " ")).split()


def parse_part(words: list[str], depth: int) -> list[Command]:
    """Return the programs of one part of a pipe or list."""
    words = skip_wrappers(words)
    if not words:
        return []
    program = get_name(words[0])
    arguments = words[1:]
    if program in SHELLS:
        for number, word in enumerate(arguments[:-1]):
            if word.startswith("-") and word.endswith("c") and depth < MOST_DEPTH:
                return parse_command(arguments[number + 1], depth + 1)
    commands = [build_command(words[0], program, arguments)]
    inner = find_inner_command(program, arguments)
    if inner and depth < MOST_DEPTH:
        commands += parse_part(inner, depth + 1)
    if program == "docker" and arguments[:1] == ["compose"]:
        commands.append(build_command("docker-compose", "docker-compose", arguments[1:]))
    return commands


def skip_wrappers(words: list[str]) -> list[str]:
    """Return a command without assignments, `sudo` and the like."""
    is_wrapped = False
    while words:
        is_argument = words[0].startswith("-") or words[0].isdigit()
        if ASSIGNMENT.fullmatch(words[0]) or (is_wrapped and is_argument):
            words = words[1:]
        elif get_name(words[0]) in WRAPPERS:
            words, is_wrapped = words[1:], True
        else:
            break
    return words


def get_name(word: str) -> str:
    name = word.rpartition("/")[2] or word
    return SAME_PROGRAM.get(name, re.sub(r"^(python|pip)[\d.]+$", r"\1", name))


def find_inner_command(program: str, arguments: list[str]) -> list[str]:
    """Return the command that an interpreter or runner starts."""
    if arguments and (program, arguments[0]) in RUNNERS:
        arguments = arguments[1:]
    elif program == "python" and arguments[:1] == ["-m"]:
        return arguments[1:]
    elif program not in INTERPRETERS | SHELLS:
        return []
    while arguments and arguments[0].startswith("-"):
        # What follows `-c` or `-e` is a program in another language.
        if arguments[0] in ("-c", "-e"):
            return []
        arguments = arguments[1:]
    return arguments


def build_command(first: str, program: str, arguments: list[str]) -> Command:
    words: list[str] = []
    flags: list[str] = []
    paths: list[str] = []
    tables: list[str] = []
    is_target = False
    for word in arguments:
        if word.startswith((">", "<")):
            is_target = word.startswith(">")
        elif is_target or (program in WRITING and not word.startswith("-")):
            paths.append(word)
            is_target = False
        elif word.startswith("-") and len(word) > 1:
            flag, _, value = word.partition("=")
            flags += [flag, SAME_FLAG.get(flag, flag)]
            words += [value] if value else []
        elif " " in word:  # a message, or a script such as SQL
            tables += TABLE.findall(word)
        else:
            words.append(word)
    heads = [word for word in words if SUBCOMMAND.fullmatch(word) and word not in GROUPS][:1]
    if "." in program:
        heads = [program]
    if "/" in first:
        words.append(first)
    if program in READING:
        words = []
    return Command(
        program,
        tuple(words[:MOST_WORDS]),
        tuple(dict.fromkeys(flags)),
        tuple(paths),
        (*heads, *tables),
    )

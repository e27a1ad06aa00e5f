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
WRAPPERS = frozenset("sudo time nohup env command exec xargs nice timeout watch doas".split())
SHELLS = frozenset("bash sh zsh".split())
# Programs that run another one: `uv run pytest`, `python -m pytest`, `npx vitest`.
RUNNERS = frozenset("python php node ruby perl npx uvx bunx bun".split())
SCRIPT_MANAGERS = ("npm", "pnpm", "yarn")
MANAGERS = frozenset("uv poetry pipenv bundle npm pnpm yarn".split())
# Words such as the `run` of `npm run build` do not say what is done.
GROUPS = frozenset("run exec compose".split())
READING = frozenset(
    "cat less more head tail ls grep rg find fd wc stat file tree diff du df echo printf pwd which"
    " cd sort uniq cut awk jq true false sleep test".split()
)
READING_SUBCOMMANDS = frozenset(
    "status list ls show get log logs diff describe info inspect ps images view history help"
    " version blame branch fetch".split()
)
WRITING = frozenset("rm mv cp tee touch chmod chown truncate sed patch ln rmdir mkdir".split())
SUBCOMMAND = re.compile(r":?[a-zA-Z][a-zA-Z0-9]*(?:[:-][a-zA-Z0-9]+)*")
MOST_HEADS = 2
SQL = re.compile(r"(?i)\s*(select|insert|update|delete|drop|truncate|alter|create)\b")
TABLE = re.compile(r"(?i)\b(?:from|update|into|join|table|truncate)\s+[\"`]?([a-z]\w{2,})")
SPLIT_FLAG = re.compile(r"(-\w(?=\d+$)|[^=]+)=?(.*)", re.DOTALL)
SAME_FLAG = {"-f": "--force", "-m": "--message"}


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
        return self.program in READING or not READING_SUBCOMMANDS.isdisjoint(self.words[:2])


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
        if SEPARATOR.fullmatch(word):
            commands += [item._replace(folder=folder) for item in parse_part(part, depth)]
            folder = part[1] if part[:1] == ["cd"] and part[1:] else folder
            part = []
        else:
            part.append(word)
    return commands


def parse_part(words: list[str], depth: int) -> list[Command]:
    """Return the programs of one part of a pipe or list."""
    words, variables = skip_wrappers(words)
    if not words or depth > MOST_DEPTH:
        return []
    program = re.sub(r"^(python|pip)[\d.]+$", r"\1", words[0].rpartition("/")[2])
    arguments = words[1:]
    if program in SHELLS and arguments:
        is_script = arguments[0].startswith("-") and arguments[0].endswith("c")
        rest = arguments[1:]
        return parse_command(rest[0], depth + 1) if is_script and rest else parse_part(rest, depth)
    commands = [build_command(program, arguments)]
    if program == "ssh":
        remote = re.sub(r"^(?:-[pilojLRJF] \S+ |-\S+ )*\S+", "", " ".join(arguments))
        commands += parse_command(remote, depth + 1)
    # `npm run build` runs no program called build.
    is_script = program in SCRIPT_MANAGERS and arguments[:1] == ["run"]
    is_running = program in MANAGERS and arguments[:1] in (["run"], ["exec"]) and not is_script
    outer = tuple(arguments[:1]) if is_running else ()
    if (is_running or program in RUNNERS) and not {"-c", "-e"}.intersection(arguments[:1]):
        while arguments and (arguments[0] in GROUPS or arguments[0].startswith("-")):
            arguments = arguments[1:]
        # The inner command says what is done.
        commands = [commands[0]._replace(heads=outer), *parse_part(arguments, depth + 1)]
    return [item._replace(variables=(*variables, *item.variables)) for item in commands]


def skip_wrappers(words: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return a command without `sudo` and the like, and the variables set for it."""
    is_wrapped = False
    variables = []
    while words:
        is_argument = words[0].startswith("-") or words[0].isdigit()
        is_wrapper = words[0].rpartition("/")[2] in WRAPPERS
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
        if word.startswith("-") and len(word) > 1:
            # -j8 is the flag -j.
            flag, value = SPLIT_FLAG.fullmatch(word).groups()
            flags += [flag, SAME_FLAG.get(flag, flag)]
            words += [value] if value else []
        elif " " in word:  # a message, or a script
            statement = SQL.match(word)
            if statement:
                words.append(statement[1].lower())
                heads = TABLE.findall(word)
        elif not word.startswith((">", "<")):
            if previous.startswith(">") or program in WRITING:
                paths.append(word)
            if program not in READING:
                words.append(word)
            # After `-n` or before a digit it is rather the value of a flag.
            is_value = previous[:1] == "-" and (previous[1:2] != "-" or not word.isalpha())
            if not is_value and "=" not in word:
                # Subcommands come before the other arguments.
                has_target |= not SUBCOMMAND.fullmatch(word)
                heads += [word] if not has_target and word not in GROUPS else []
        previous = "" if "=" in word else word
    return Command(
        program,
        tuple(words[:MOST_WORDS]),
        tuple(dict.fromkeys(flags)),
        tuple(paths),
        tuple([program] if "." in program else heads[:MOST_HEADS]),
    )

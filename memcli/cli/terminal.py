"""Print results and messages, ask questions, show progress, run the pager and the editor."""

import json
import re
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from ..context import Context
from ..data import table
from ..errors import UsageError
from ..formats import CONTROL, Progress, split_words
from ..store import MAIN_WORKTREE, Workspace, find_repository, read_settings

ESCAPE, END_OF_INPUT = "\x1b", "\x04"
DEFAULT_EDITOR = "vi"  # like git
DETAILS = re.compile(r"  (\((?:[^() ]+|[^()]+ · [^()]+)\))$")  # (q4xb7c), (fact · today · q4xb7c)
BOLD, PLAIN = "\033[1m", "\033[0m"
PROGRESS_DELAY = 2.0  # seconds until progress is shown
PROGRESS_INTERVAL = 0.1  # seconds between two updates
BAR_WIDTH = 24
SHORTEST_PATH = 24  # characters of a path that was cut


# Arguments and filters that several commands have.
Memories = Annotated[list[str], Argument(metavar="MEMORY…", help="Ids, paths or titles.")]
Types = Annotated[list[str], "Only memories of this type."]
Tags = Annotated[list[str], "Only memories with this tag."]
Statuses = Annotated[list[str], "active (default), superseded, forgotten, faded or all."]
Conditions = Annotated[list[str], 'Only memories with this property: "rating>=4".']


def declare_limit(text: str) -> Any:
    """Declare the option -n of a command. Its help is `text`."""
    return Option("-n", "--limit", min=1, help=text)


@dataclass
class Result:
    """The output of a command."""

    data: dict[str, Any] = field(default_factory=dict)  # for --json
    lines: Sequence[str] = ()  # for a terminal
    rows: Sequence[Sequence[Any]] | None = None  # for a pipe; None: the lines
    messages: Sequence[str] = ()  # for stderr
    highlight: Sequence[str] = ()  # words to set in bold on a terminal
    exit_code: int = 0
    # Printed if there are no lines: on a terminal, or if the exit code is not 0.
    nothing: str = ""


def print_result(context: Context, result: Result) -> None:
    """Print the output of a command: JSON if asked for, rows in a pipe, otherwise lines."""
    for message in result.messages:
        print_message(context, message)
    # A memory comes from anywhere, and an escape sequence could change the title or the clipboard.
    lines = [clean_line(line) for line in result.lines]
    # A script sees the exit code; a person needs a word.
    if result.nothing and not lines and not result.rows:
        if result.exit_code:
            print_message(context, result.nothing)
        elif context.is_terminal:
            lines = [result.nothing]
    if context.common.as_json:
        data = select_fields(build_plain(result.data), context.common.fields)
        text = json.dumps(data, ensure_ascii=False, default=str)
        # JSON escapes some control characters only. A program gets every byte.
        context.stdout.write(f"{clean_line(text) if context.is_terminal else text}\n")
        return
    # Scripts cut columns; people read sentences.
    if result.rows is not None and not context.is_terminal:
        for row in result.rows:
            context.stdout.write("\t".join(format_cell(cell) for cell in row) + "\n")
        return
    if context.is_terminal:
        # An id that is broken over two lines is hard to read and to copy.
        width = context.width
        lines = [DETAILS.sub(r"\n  \1", line) if len(line) > width else line for line in lines]
    if result.highlight and has_colors(context):
        lines = highlight_words(lines, result.highlight)
    text = "".join(f"{line}\n" for line in lines)
    # Like git: a pager only for output that does not fit on the screen. Long lines wrap.
    rows = sum(max(len(line) - 1, 0) // context.width + 1 for line in text.splitlines())
    if context.is_terminal and rows >= context.height > 0:
        show_in_pager(context, text)
    else:
        context.stdout.write(text)


def print_message(context: Context, message: str, prefix: str = "mem: ") -> None:
    """Print a line on stderr, wrapped at words on a terminal."""
    text = clean_line(f"{prefix}{message}")
    context.stderr.write("\n".join(wrap_text(context, text)) + "\n")


def read_input(context: Context) -> str:
    """Return the text on standard input. Raises UsageError if it is not UTF-8."""
    text = context.stdin.read()
    check_utf8(text, "standard input")
    return text


def check_utf8(text: str, name: str) -> None:
    # Python passes bytes that are not UTF-8 as lone surrogates, which no file should contain.
    if re.search("[\udc80-\udcff]", text):
        raise UsageError(f"{name} is not UTF-8", "convert it: iconv -f latin1 -t utf-8")


def wrap_text(context: Context, text: str, indent: int = 2) -> list[str]:
    """Return the lines of a text that is wrapped at words on a terminal."""
    if not context.is_terminal:
        return [text]
    import textwrap

    return textwrap.wrap(
        text,
        context.width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def show_in_pager(context: Context, text: str) -> None:
    """Pipe a text to the pager, or print it if there is none."""
    import shlex
    import subprocess

    # A pager runs a command, so a workspace cannot choose it.
    settings = read_settings(Path("/nonexistent"), context.config_file, context.environment)
    command = settings["pager"] or context.environment.get("PAGER") or "less -FRX"
    try:
        process = subprocess.Popen(shlex.split(command), stdin=subprocess.PIPE)
    except (OSError, ValueError):
        context.stdout.write(text)
        return
    try:
        process.communicate(text.encode("utf-8", "surrogateescape"))
    except BrokenPipeError:
        pass  # the reader has seen enough


def is_interactive(context: Context) -> bool:
    """Return whether a person can answer questions. An agent that runs mem has none."""
    return context.is_terminal and context.stdin.isatty() and not context.common.as_json


def ask(context: Context, question: str, *, default: bool = False) -> bool:
    """Return whether the person answers yes. Enter takes the default; no terminal is a no."""
    if not is_interactive(context):
        return False
    # At the end of the input, nobody has agreed.
    answers = {"y": True, "yes": True, "n": False, "no": False, "\n": default, "": False}
    while True:
        context.stderr.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
        context.stderr.flush()
        line = context.stdin.readline().lower()
        # A stray word, such as "what", is no answer.
        answer = answers.get(line.strip() or line[-1:])
        if answer is not None:
            return answer


def require_yes(context: Context, question: str, *, yes: bool) -> bool:
    """Return whether the user agrees to a purge. A script must pass --yes."""
    if yes:
        return True
    if not is_interactive(context):
        raise UsageError("a purge cannot be undone", "to confirm, add --yes")
    return ask(context, question)


def read_key(context: Context) -> str:
    """Return the next key that the person presses, or an empty string at the end of the input."""
    stream = context.stdin
    # Tests and scripts pipe their answers.
    if not stream.isatty():
        key = stream.read(1)
        while key.isspace():
            key = stream.read(1)
        return key
    import os
    import termios
    import tty
    from select import select

    settings = termios.tcgetattr(stream)
    try:
        # One key answers, without Enter. Ctrl-C still interrupts.
        tty.setcbreak(stream)
        key = os.read(stream.fileno(), 1).decode("latin-1")
        # An arrow key sends several characters, which must not count as answers.
        while key == ESCAPE and select([stream], [], [], 0)[0]:
            os.read(stream.fileno(), 1)
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, settings)
    return "" if key == END_OF_INPUT else key


def run_editor(context: Context, workspace: Workspace, path: Path, otherwise: str) -> None:
    """Wait until the user has edited a file.

    Raises UsageError if that is impossible. Its hint suggests the command `otherwise`.
    """
    import shlex
    import subprocess

    environment = context.environment
    command = workspace.settings["editor"] or environment.get("VISUAL") or environment.get("EDITOR")
    if not command and is_interactive(context):
        command = DEFAULT_EDITOR
    if not command:
        raise UsageError("no editor", f"set EDITOR, or use: {otherwise}")
    try:
        done = subprocess.run(
            [*shlex.split(command), str(path)],
            env=dict(environment),
            cwd=context.folder,
            check=False,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(
            f"cannot start the editor {command!r}: {reason}", f"set EDITOR, or use: {otherwise}"
        ) from None
    # vim's :cq is how a person says that nothing should be saved.
    if done.returncode:
        raise UsageError(
            f"the editor ended with an error ({done.returncode})", "nothing was changed"
        )


def build_progress(context: Context, label: str) -> Progress | None:
    """Return a function that shows how much is done, or None if stderr is no terminal."""
    # A dumb terminal cannot delete the bar.
    if not context.stderr.isatty() or context.environment.get("TERM", "dumb") == "dumb":
        return None
    began = shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        # Short steps show no bar, and so need not delete one.
        is_visible = shown > began
        if done >= total:
            if is_visible:
                context.stderr.write("\r\033[K")
                context.stderr.flush()
        elif now - began > PROGRESS_DELAY and now - shown > PROGRESS_INTERVAL:
            # ASCII, because a terminal without UTF-8 would show three signs for a block.
            bar = "#" * (BAR_WIDTH * done // total)
            line = f"\r{label:12} [{bar:{BAR_WIDTH}}] {done:,} of {total:,}"
            context.stderr.write(line[: context.width + 1])
            context.stderr.flush()
            shown = now

    return show


def build_plain(value: Any) -> Any:
    """Return dataclasses and tuples as JSON values."""
    if is_dataclass(value) and not isinstance(value, type):
        return build_plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): build_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [build_plain(item) for item in value]
    return value


def select_fields(data: Any, fields: Sequence[str]) -> Any:
    """Return the named fields of the data, or of each item if the data is a list of items."""
    if not fields:
        return data
    # `--json id` of a list means the id of each item.
    lists = {name: items for name, items in data.items() if is_list_of_objects(items)}
    if lists and not set(fields) <= set(data):
        name, items = next(iter(lists.items()))
        check_fields(fields, set(items[0]) if items else set(fields))
        return {name: [{field: item.get(field) for field in fields} for item in items]}
    check_fields(fields, set(data))
    return {field: data.get(field) for field in fields}


def is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def suggest(
    name: str, known: Iterable[str], otherwise: str, *, before: str = "", cutoff: float = 0.7
) -> str:
    """Return a hint: the known name that is meant, or another text."""
    import difflib

    meant = table("shell.toml")["other_names"].get(name, name)
    close = difflib.get_close_matches(meant, known, 1, cutoff)
    return f"did you mean: {before}{close[0]}" if close else otherwise


def check_word(noun: str, word: str, known: Collection[str]) -> None:
    """Raise UsageError if a word is unknown. Its hint names the word that is meant."""
    if word not in known:
        hint = suggest(word, known, f"one of: {', '.join(known)}")
        raise UsageError(f"unknown {noun} {word!r}", hint)


def check_fields(fields: Sequence[str], known: Collection[str]) -> None:
    unknown = [name for name in fields if name not in known]
    if unknown:
        raise UsageError(f"unknown field {unknown[0]!r}", f"fields: {', '.join(sorted(known))}")


def explain_place(workspace: Workspace) -> list[str]:
    """Return a message if a text went to another folder than people may expect.

    That is the main worktree, or the user's own memory for lack of another one here.
    Most people have both, so outside of projects only the first text gets it.
    """
    context = workspace.context
    path = shorten_path(context, str(workspace.root))
    if workspace.reason == MAIN_WORKTREE and workspace.is_shared:
        return [f"saved in {path} (the memory of all worktrees)"]
    if not workspace.is_own or context.common.scope == "user":
        return []
    repository = find_repository(context.folder)
    home = context.environment.get("HOME", "")
    # A memory cannot be in a bare repository, and a home folder is not a project.
    is_project = repository and repository.main and repository.top != Path(home)
    if not is_project and not workspace.resources.get("is new"):
        return []
    place = "project" if is_project else "folder"
    return [f"saved in your own memory, {path}; `mem init` creates a memory for this {place}"]


def describe_status(workspace: Workspace, status: str) -> str:
    """Return the status of a memory to show."""
    # A clone cannot forget for its user, so until it is trusted, its forgotten memories are faded.
    is_unsure = status == "faded" and not workspace.is_trusted
    return "faded or forgotten" if is_unsure else status


def shorten_path(context: Context, path: str) -> str:
    """Return a path with ~ for the home folder."""
    home = context.environment.get("HOME", "")
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def cut_path(path: str, length: int) -> str:
    """Return a path with an ellipsis in its middle if it is longer than `length`."""
    # On a narrow terminal the line wraps, but the path still names the file.
    length = max(length, SHORTEST_PATH)
    if len(path) <= length:
        return path
    half = length // 2
    return f"{path[: length - half - 1]}…{path[-half:]}"


def format_cell(cell: Any) -> str:
    text = f"{cell:.3f}" if isinstance(cell, float) else str(cell)
    return CONTROL.sub("\ufffd", re.sub(r"[\t\r\n]+", " ", text))


def clean_line(line: str) -> str:
    """Return a line without control characters: a memory must not move the cursor."""
    return CONTROL.sub("\ufffd", line.replace("\r", " "))


def has_colors(context: Context) -> bool:
    environment = context.environment
    return (
        context.is_terminal
        and not environment.get("NO_COLOR")
        and environment.get("TERM", "dumb") != "dumb"
    )


def highlight_words(lines: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return lines in which the words of a query are bold. Indented lines are details and stay."""
    # One letter would light up half of the text.
    stems = {word for text in words for word in split_words(text) if len(word) > 1}

    def embolden(match: re.Match[str]) -> str:
        return f"{BOLD}{match[0]}{PLAIN}" if match[0].casefold() in stems else match[0]

    return [line if line.startswith(" ") else re.sub(r"\w+", embolden, line) for line in lines]

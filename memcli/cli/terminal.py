"""The person at the terminal: questions, the pager and the editor."""

import shlex
from pathlib import Path

from ..context import Context
from ..errors import UsageError
from ..store.settings import read_settings
from ..store.workspace import Workspace

ESCAPE, END_OF_INPUT = "\x1b", "\x04"
DEFAULT_EDITOR = "vi"  # like git


def is_interactive(context: Context) -> bool:
    """Return whether a person can answer questions. An agent that runs mem has none."""
    return context.is_terminal and context.stdin.isatty() and not context.common.as_json


def ask(context: Context, question: str, *, default: bool = False) -> bool:
    """Return whether the person answers yes. Enter takes the default; no terminal is a no."""
    if not is_interactive(context):
        return False
    context.stderr.write(f"{question} [{'Y/n' if default else 'y/N'}] ")
    context.stderr.flush()
    answer = context.stdin.readline()
    if not answer.strip():
        return default and bool(answer)  # at the end of the input, nobody has agreed
    return answer.strip().lower() in ("y", "yes")


def require_yes(context: Context, question: str, *, yes: bool) -> bool:
    """Return whether to go on with something that cannot be undone. A script must pass --yes."""
    if yes:
        return True
    if not is_interactive(context):
        raise UsageError("a purge cannot be undone", "to confirm, add --yes")
    return ask(context, question)


def read_key(context: Context) -> str:
    """Return the next key that the person presses, or an empty string at the end of the input."""
    stream = context.stdin
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
        tty.setcbreak(stream)
        key = os.read(stream.fileno(), 1).decode("latin-1")
        # An arrow key sends several characters, which must not count as answers.
        while key == ESCAPE and select([stream], [], [], 0)[0]:
            os.read(stream.fileno(), 1)
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, settings)
    return "" if key == END_OF_INPUT else key


def show_in_pager(context: Context, text: str) -> None:
    """Pipe a text to the pager, or print it if there is none."""
    import subprocess

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


def run_editor(context: Context, workspace: Workspace, path: Path, otherwise: str) -> None:
    """Wait until the user has edited a file. Raises UsageError with `otherwise` as a hint."""
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
    if done.returncode:
        raise UsageError(
            f"the editor ended with an error ({done.returncode})", "nothing was changed"
        )

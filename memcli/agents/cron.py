"""The line of a crontab that tends a workspace every night."""

import subprocess
from pathlib import Path

from ..errors import RefusedError, UsageError

_MARK = "# mem hook cron"


def line_of(program: str, root: Path) -> str:
    """Give the line; cron takes a percent sign for the end of it."""
    quoted = "'" + str(root).replace("'", "'\\''") + "'"
    if "\n" in quoted:
        raise RefusedError(f"{str(root)!r} cannot stand in a crontab", "rename the folder")
    return f"17 3 * * * {program} tend --quiet --workspace {quoted} {_MARK}".replace("%", "\\%")


def table() -> str:
    """Read the user's crontab; UsageError where there is no cron."""
    try:
        done = subprocess.run(["crontab", "-l"], capture_output=True, check=False)
    except FileNotFoundError:
        raise UsageError(
            "there is no crontab here", "put the line into your own scheduler: --dry-run prints it"
        ) from None
    # No crontab yet is an error of the program, and so is one that may not be read: the second must not be emptied.
    if done.returncode and b"no crontab" not in done.stderr.lower():
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")
    return done.stdout.decode("utf-8", "surrogateescape")


def with_line(text: str, line: str) -> str:
    """Put our line for a workspace in, or in the place of an older one for it."""
    kept = without_line(text, line)
    return f"{kept}{'' if not kept or kept.endswith(chr(10)) else chr(10)}{line}\n"


def without_line(text: str, line: str) -> str:
    """Take our line for the same workspace out."""
    place = line.partition(" --workspace ")[2]
    return "".join(
        one for one in text.splitlines(keepends=True) if not one.rstrip("\n").endswith(f" --workspace {place}")
    )


def save(text: str) -> None:
    """Make a text the user's crontab."""
    words = ["crontab", "-"] if text else ["crontab", "-r"]
    done = subprocess.run(words, input=text.encode("utf-8", "surrogateescape"), capture_output=True, check=False)
    if done.returncode:
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")

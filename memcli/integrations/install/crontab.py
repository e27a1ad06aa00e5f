"""The line of mem in the user's crontab, which tends a workspace each night."""

import subprocess
from pathlib import Path

from ...errors import RefusedError, UsageError

_MARK = "# mem hook cron"


def cron_line(program: str, root: Path) -> str:
    """Return the line that tends a workspace each night; cron takes a percent sign for the end of it."""
    quoted = "'" + str(root).replace("'", "'\\''") + "'"
    if "\n" in quoted:
        raise RefusedError(f"{str(root)!r} cannot stand in a crontab", "rename the folder")
    return f"17 3 * * * {program} tend --quiet --workspace {quoted} {_MARK}".replace("%", "\\%")


def change_crontab(line: str, *, is_removal: bool) -> None:
    """Put the line into the user's crontab, in the place of an older one for the workspace, or take it out."""
    before = _read()
    after = _without_line(before, line) if is_removal else _with_line(before, line)
    if after != before:
        _write(after)


def tended() -> list[str]:
    """Return the workspaces that the user's crontab tends, as its lines name them."""
    lines = [line for line in _read().splitlines() if line.endswith(_MARK)]
    return [line.partition(" --workspace ")[2].removesuffix(_MARK).strip() for line in lines]


def _read() -> str:
    """Read the user's crontab; raise UsageError if there is no cron."""
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


def _with_line(text: str, line: str) -> str:
    """Put our line for a workspace in, or in the place of an older one for it."""
    kept = _without_line(text, line)
    return f"{kept}{'' if not kept or kept.endswith(chr(10)) else chr(10)}{line}\n"


def _without_line(text: str, line: str) -> str:
    """Take our line for the same workspace out."""
    place = line.partition(" --workspace ")[2]
    return "".join(
        one for one in text.splitlines(keepends=True) if not one.rstrip("\n").endswith(f" --workspace {place}")
    )


def _write(text: str) -> None:
    words = ["crontab", "-"] if text else ["crontab", "-r"]
    done = subprocess.run(words, input=text.encode("utf-8", "surrogateescape"), capture_output=True, check=False)
    if done.returncode:
        raise RefusedError(f"crontab: {done.stderr.decode(errors='replace').strip()}", "see `crontab -l`")

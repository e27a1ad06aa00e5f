"""The versions of a file that git knows of; nothing where it is in no repository.

Runs git with a deadline, and nothing that a clone's own settings ask for.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

SECONDS = 5.0
MOST = 50
_SAFE = ("-c", "log.showSignature=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_FORMAT = "%h%x00%aI%x00%an%x00%s"


@dataclass(frozen=True)
class Version:
    """One commit that changed the file."""

    commit: str
    date: str
    author: str
    subject: str


def versions(file: Path) -> list[Version]:
    """List the commits that changed a file, the newest first, its renames followed."""
    if not any((folder / ".git").exists() for folder in file.parents):
        return []
    command = ["git", *_SAFE, "-C", str(file.parent), "--no-pager", "log", "--follow", "--no-ext-diff", "--no-textconv"]
    command += [f"--max-count={MOST}", f"--format={_FORMAT}", "--", file.name]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            check=False,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    rows = [line.split("\0") for line in done.stdout.decode("utf-8", "replace").split("\n")]
    return [Version(*row) for row in rows if len(row) == 4]

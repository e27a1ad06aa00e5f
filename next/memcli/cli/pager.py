"""Show long output in the user's pager."""

import shlex
import subprocess
from pathlib import Path

from ..context import Context
from ..store.settings import read_settings


def show_in_pager(context: Context, text: str) -> None:
    """Pipe a text to the pager, or print it if there is none."""
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

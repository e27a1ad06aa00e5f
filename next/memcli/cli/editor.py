"""Start the user's editor."""

import shlex
import subprocess
from pathlib import Path

from ..context import Context
from ..errors import UsageError
from ..store.workspace import Workspace


def run_editor(context: Context, workspace: Workspace, path: Path, otherwise: str) -> None:
    """Wait until the user has edited a file. Raises UsageError with `otherwise` as a hint."""
    environment = context.environment
    command = workspace.settings["editor"] or environment.get("VISUAL") or environment.get("EDITOR")
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
        raise UsageError(f"cannot start the editor {command!r}: {error}") from None
    if done.returncode:
        raise UsageError(
            f"the editor ended with an error ({done.returncode})", "nothing was changed"
        )

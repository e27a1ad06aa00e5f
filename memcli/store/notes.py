"""Daily notes: a line at the end of the day's page, by the user's clock."""

from ..text.conflict import require_no_conflict
from ..text.note import line_of
from . import files
from .journal import exclusive
from .workspace import Workspace


def add_note(workspace: Workspace, text: str) -> tuple[str, str]:
    """Add a note to the page of today; give the page's path and the line."""
    here = workspace.now.astimezone(workspace.zone)
    path = workspace.layout.notes.format(date=here.date().isoformat())
    line = line_of(f"{here:%H:%M}", text)
    with exclusive(workspace, "mem note") as held:
        target = workspace.path(path)
        if target.exists():
            require_no_conflict(path, files.read(target).decode("utf-8", "replace"))
        held.check()
        files.append(target, line.encode())
    return path, line

"""Daily notes: a line at the end of the day's page, by the user's clock."""

from ..text.conflict import require_no_conflict
from ..text.note import line_of
from . import files
from .journal import exclusive
from .workspace import Workspace


def add_note(workspace: Workspace, text: str, *, once: bool = False) -> tuple[str, str]:
    """Add a note to the page of today, with `once` only if the same line does not stand there; give path and line."""
    here = workspace.now.astimezone(workspace.zone)
    path = workspace.layout.notes.format(date=here.date().isoformat())
    line = line_of(f"{here:%H:%M}", text)
    with exclusive(workspace, "mem note") as held:
        target = workspace.path(path)
        if target.exists():
            page = files.read(target).decode("utf-8", "replace")
            require_no_conflict(path, page)
            if once and line in page:
                return path, line
        held.check()
        files.append(target, line.encode())
    return path, line

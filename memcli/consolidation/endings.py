"""Whether a sentence ends something that memory holds: "Emil no longer has a cat" where an entry says that he has one.

Owns: the look at the entries for that. Refuses to decide what becomes of them: see `beliefs`.
"""

from collections.abc import Sequence

from ..beliefs.changes import is_ended_by, tells_of_change
from ..index.scan import scan
from ..store.workspace import Workspace
from ..text import frontmatter
from .candidates import Candidate


def ending(workspace: Workspace, said: Sequence[Candidate]) -> list[Candidate]:
    """Return what the user says outright is no longer so, where an active entry states just that.

    Entries are read only where a sentence tells of a change at all, which is rare.
    """
    told = [one for one in said if one.role == "user" and not one.is_told and tells_of_change(one.text)]
    known = _known(workspace) if told else []
    return [one for one in told if any(is_ended_by(body, one.text) is not None for body in known)]


def _known(workspace: Workspace) -> list[str]:
    layout, found = workspace.layout, []
    for path in scan(workspace.root, layout).stats:
        if layout.kind_of(path) != "entry" or layout.is_archived(path):
            continue
        try:
            document = frontmatter.parse((workspace.root / path).read_text(encoding="utf-8", errors="replace"))
        except OSError:
            continue  # gone meanwhile
        if document.fields.get("status", "active") == "active":
            found.append(document.body.strip())
    return found

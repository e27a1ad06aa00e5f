"""`mem read --source`."""

from dataclasses import asdict
from datetime import UTC, datetime

from ..errors import NotFoundError
from ..store import access
from ..store.workspace import Workspace
from ..text.entry import read_entry
from ..text.frontmatter import Document
from . import output


def show_origins(workspace: Workspace, path: str, document: Document, *, as_json: bool) -> None:
    """Show what an entry was taken from; NotFoundError where it does not say."""
    from ..retrieval.origin import origins

    entry, _ = read_entry(document, path, datetime.fromtimestamp(0, UTC))
    waiting = access.confirmations(workspace).get(entry.id)
    sources = tuple(dict.fromkeys([*map(str, entry.sources), *(waiting.sources if waiting else ())]))
    if workspace.layout.kind_of(path) != "entry" or not sources:
        raise NotFoundError(f"{path} does not say what it was taken from", "`mem write --sources` notes it")
    found = list(origins(workspace, sources))
    if as_json:
        output.say_json({"id": entry.id, "path": path, "sources": [asdict(one) for one in found]})
        return
    for one in found:
        if one.problem:
            output.note(f"{one.source}: {one.problem}")
        else:
            output.say(f"{one.source}\n{one.text}", end="" if one.text.endswith("\n") else "\n")

"""`mem read --history`: the memories that took each other's place, and the commits of a file."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from ..beliefs.supersession import Chain, chain, page_chain
from ..errors import NotFoundError
from ..formats.entry import read_entry, stated_id
from ..formats.frontmatter.document import Document
from ..index.index import ask
from ..store import local_log
from ..store.git import Version, versions
from ..store.workspace import Workspace
from . import context, output


def show_chain(where: Workspace, path: str, document: Document, *, as_json: bool) -> None:
    """Print what a memory replaced and what replaced it, the oldest first, then the commits, the newest first."""
    found = Chain(())
    if where.layout.kind_of(path) == "entry":
        identifier = stated_id(document.fields) or path
        found = ask(where, lambda index: chain(index, identifier))
    elif where.layout.kind_of(path):
        found = page_chain(where, path)
    log = versions(where.path(path))
    for problem in found.problems:
        output.note(problem)
    if as_json:
        output.say_json({
            "path": path,
            "chain": [asdict(link) for link in found.links],
            "log": [asdict(one) for one in log],
            "problems": list(found.problems),
        })  # fmt: skip
    elif output.is_watched():
        _show(found, log)
    else:
        for link in found.links:
            output.say_row((link.created_at[:10], link.status, link.id, context.here(where, link.path), link.summary))
        for one in log:
            output.say_row((one.date[:10], "commit", one.commit, one.author, one.subject))


def show_values(found_in: Sequence[Workspace], key: str, project: str, *, as_json: bool) -> None:
    """Print every value that a key had, the earliest first, with its time and who said it."""
    from ..search.resolve import key_history

    found = [(where, one) for where in found_in for one in key_history(where, key, project)]
    if not found:
        raise NotFoundError(f"nothing has filled the key {key!r}", "`mem ls --key '*'` lists the keys there are")
    if as_json:
        output.say_json({"key": key, "values": [asdict(one) | {"scope": where.scope} for where, one in found]})
        return
    for where, one in found:
        if output.is_watched():
            output.say_styled((f"{one.since[:10]}  ", "1"), (output.wrapped(one.summary, 12), ""))
            over = f", held until {one.until[:10]}" if one.until else ""
            said = f"{one.id} · {one.source} · {one.status}{over}" + (f" · {one.project}" if one.project else "")
            output.say_styled((f"            {said}", "36"))
        else:
            row = (one.since[:10], one.until[:10], one.status, one.source, one.id, context.here(where, one.path))
            output.say_row((*row, one.summary))


def _show(found: Chain, log: list[Version]) -> None:
    for link in found.links:
        output.say_styled((f"{link.created_at[:10]}  ", "1"), (output.wrapped(link.summary, 12), ""))
        after = f" by {link.superseded_by}" if link.superseded_by else ""
        output.say_styled((f"            {link.id} · {link.status}{after}", "36"))
    for one in log:
        output.say_styled((f"{one.date[:10]}  ", "1"), (f"{one.commit} {one.subject} ", ""), (f"({one.author})", "2"))


def show_origins(workspace: Workspace, path: str, document: Document, *, as_json: bool) -> None:
    """Show what an entry was taken from; NotFoundError where it does not say."""
    from ..search.provenance import origins

    entry, _ = read_entry(document, path, datetime.fromtimestamp(0, UTC))
    waiting = local_log.confirmations(workspace).get(entry.id)
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

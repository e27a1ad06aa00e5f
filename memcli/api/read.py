"""Read what a name or a key means: its text, where it came from, what it replaced, and every value of a key."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, UsageError
from ..formats.entry import checked, fields_from_others, listed, read_entry, spelled, stated_id
from ..formats.frontmatter import document as frontmatter
from ..formats.ids import past
from ..formats.text_lines import BOM, FileProblem, FileProblems, Problem, conflict_marker, decoded
from ..formats.text_lines import lines as lines_of
from ..results import Expired, FilePath, Id, Kind, Result, Scope
from ..store import access_log, addresses, atomic_files
from .workspace import Place, Workspace, Workspaces, every, locate

if TYPE_CHECKING:
    from ..index.lookups import KeyHistory as KeyHistory
    from ..maintenance.timeline import History as History
    from ..maintenance.timeline import TimelineItem
    from ..search.provenance import Origin
    from ..search.provenance import Origins as Origins


@dataclass(frozen=True)
class Which:
    """Which memory to read: by `name` (an id, a part of one, a path, a hit's address) or by the `key` it fills.

    `project` is that of the key. `as_of` is a date, to read what was believed then.
    """

    name: str = ""
    key: str = ""
    project: str = ""
    as_of: str = ""


class Backlink(NamedTuple):
    """A memory that links to another one."""

    id: Id
    path: FilePath
    summary: Annotated[str, "the memory in one line; empty for what is no entry"]


class WikiLink(NamedTuple):
    """A `[[link]]` in a text, from one character to another, and the memory or note that it leads to."""

    start: int
    stop: int
    id: str  # of an entry; else the path
    path: str


LINKS = 10
"""Memories that link to one which are named with its text."""


@dataclass(frozen=True)
class TextPage(Result):
    """Some or all of the text of a memory."""

    workspace: Workspace
    name: str  # what `mem read` takes: the name asked for, or that of what fills the key
    id: Id  # of an entry; else the address
    path: FilePath
    kind: Kind
    content: Annotated[str, "the text"]
    offset: Annotated[int, "where the page begins, in characters"]
    limit: Annotated[int | None, "the size of the page; null for all"]
    total: Annotated[int, "characters of the whole text"]
    fields: Annotated[Mapping[str, Any], "the frontmatter of the entry, under the names its file has"]
    expired: Expired
    problems: FileProblems
    notices: tuple[str, ...]  # such as confirmations that wait
    linked_from: Annotated[tuple[Backlink, ...], "in a vault, the first ten notes that link to it"] = ()
    linked_from_count: Annotated[int, "in a vault, how many notes link to it"] = 0
    digest: str = ""
    """Of its file, as `write` takes it to change no other text."""

    @property
    def scope(self) -> Scope:
        """Return the scope of its workspace."""
        return self.workspace.scope

    @property
    def next_offset(self) -> Annotated[int | None, "where the next page begins; null at the end"]:
        """Return where the next page begins; None where this one ends the text."""
        after = self.offset + len(self.content)
        return after if after < self.total else None


def read(
    workspaces: Workspaces,
    which: str | Which,
    *,
    offset: int = 0,
    limit: int | None = None,
    lines: str = "",
    raw: bool = False,
    counts: bool = True,
) -> TextPage:
    """Return the text of a memory, from the character `offset`, at most `limit` characters of it.

    `lines` such as `10:20` chooses lines of the file, counted from 1; `raw` gives the file with its frontmatter. To
    read an entry from its beginning counts as an access, unless told otherwise. Raise NotFoundError, AmbiguousError or
    UsageError for a name.
    """
    if offset < 0 or (limit is not None and limit < 1):
        raise UsageError("a page begins at 0 or later and holds at least one character", "check --offset and --limit")
    try:
        target = _found(workspaces, which, as_file=raw or bool(lines))
    except NotFoundError:
        if page := None if raw or lines else _from_server(every(workspaces), which, offset, limit):
            return page
        raise
    where, location, is_entry = target.workspace, target.place, target.kind == "entry"
    identifier = stated_id(target.document.fields) or location.path
    content = _content(target, lines, raw=raw)
    is_managed = where.layout.manages(location.path, identifier)
    if counts and is_managed and is_entry and offset == 0 and not where.layout.is_archived(location.path):
        access_log.note(where, [identifier])
    fields: Mapping[str, Any] = {}
    if is_entry:
        renewed_fields = access_log.renewed(target.document.fields, access_log.confirmations(where).get(identifier))
        fields = listed(renewed_fields if where.is_trusted else fields_from_others(renewed_fields))
    expired = _expired(fields, where.now) if is_managed else ""
    is_part = raw or lines or offset or location.anchor or not where.layout.is_vault
    backlinks = () if is_part else _backlinks(where, location.path, identifier)
    wrong = (target.damage, target.document.problem, _conflict(target.text))
    return TextPage(
        workspace=where,
        name=target.name,
        id=(is_entry and stated_id(target.document.fields)) or (target.name if target.is_talk else str(location)),
        path=location.path,
        kind=target.kind,
        content=content[offset:] if limit is None else content[offset : offset + limit],
        offset=offset,
        limit=limit,
        total=len(content),
        expired=expired,
        fields=fields,
        problems=tuple(
            FileProblem(location.path, problem.line, problem.reason, scope=where.scope, left_out=True)
            for problem in wrong
            if problem
        ),
        notices=_notices(target, fields, expired, identifier),
        linked_from=backlinks[:LINKS],
        linked_from_count=len(backlinks),
        digest=target.digest,
    )


def _from_server(found_in: Sequence[Workspace], which: str | Which, offset: int, limit: int | None) -> TextPage | None:
    """Return the text of what only others have, as a team's server has it; None where there is none."""
    from ..index.filters import TheirFile
    from ..index.index import Index, ask

    name = which if isinstance(which, str) else "" if which.as_of else which.name

    def answer(index: Index) -> list[TheirFile]:
        index.refresh()
        index.reach_others()
        return index.their_files([name.partition("#")[0]], 2)

    for where in found_in if name else ():
        files = ask(where, answer) if where.settings["index.backend"] == "postgres" else []
        if len(files) == 1:
            path, kind, digest, entry, text = files[0]
            identifier = entry.get("id") or path
            return TextPage(
                workspace=where,
                name=name,
                id=identifier,
                path=path,
                kind=kind,
                content=text[offset:] if limit is None else text[offset : offset + limit],
                offset=offset,
                limit=limit,
                total=len(text),
                fields={field: value for field, value in entry.items() if value and field != "file"},
                expired=past(entry.get("expires_at"), where.now),
                problems=(),
                notices=(f"{identifier} is not on this machine yet: this is its text on the server",),
                digest=digest,
            )
    return None


def _notices(target: "_Found", fields: Mapping[str, Any], expired: str, identifier: str) -> tuple[str, ...]:
    """Return what a reader of a memory should know beside its text."""
    hidden = addresses.hidden_by(target.workspace, target.place.path)
    hidden = hidden or addresses.hidden_at(target.workspace, target.place)
    return (
        *target.notices,
        *([f"expired at {expired}"] if expired else ()),
        *(f"verdict on {reason}" for reason in _reasons(fields)),
        *([f"hidden: {hidden} was forgotten here: `mem restore {quote(identifier)}` shows it again"] if hidden else ()),
    )


def _expired(fields: Mapping[str, Any], now: datetime) -> str:
    """Return since when an entry with these fields is no longer true; empty where it is, or where they do not say."""
    with suppress(TypeError, ValueError):
        return past(checked("expires_at", fields.get(spelled(fields, "expires_at"))), now)
    return ""


def _reasons(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reasons of an LLM's verdicts on an entry with these fields, each behind the id of the other entry."""
    with suppress(TypeError, ValueError):
        return tuple(checked("verdict_reasons", fields.get("verdict_reasons", ())))
    return ()


def read_origins(workspaces: Workspaces, which: str | Which) -> "Origins":
    """Return the messages and commits that an entry was taken from; raise NotFoundError where it does not say."""
    from ..search.provenance import Origins, origins

    target = _found(workspaces, which)
    where, path = target.workspace, target.place.path
    entry, _ = read_entry(target.document, path, datetime.fromtimestamp(0, UTC))
    waiting = access_log.confirmations(where).get(entry.id)
    sources = tuple(dict.fromkeys([*map(str, entry.sources), *(waiting.sources if waiting else ())]))
    if target.kind != "entry" or not sources:
        raise NotFoundError(f"{path} does not say what it was taken from", "`mem write --origin` notes it")
    return Origins(entry.id, path, tuple(origins(where, sources, entry.body)), target.notices)


def read_history(workspaces: Workspaces, which: str | Which) -> "History":
    """Return the memories that took each other's place around one, the commits of its file, and what became of it."""
    from ..beliefs.supersession import Chain, chain, page_chain
    from ..git.run import versions
    from ..maintenance.timeline import FileCommit, History, timeline

    target = _found(workspaces, which)
    where, path = target.workspace, target.place.path
    linked = Chain(())
    items: Sequence[TimelineItem] = ()
    if target.kind == "entry":
        linked = chain(where, stated_id(target.document.fields) or path)
        with suppress(MemError):  # a file that cannot be read as an entry, which `mem check` names
            items = timeline(where, path, linked.links, _sources_of(where, path))
    elif target.kind != "file":
        linked = page_chain(where, path)
    commits = (
        FileCommit(version.date, version.commit, version.author, version.subject)
        for version in versions(where.path(path))
    )
    return History(where, path, linked.links, tuple(commits), tuple(items), tuple(linked.problems), target.notices)


def _sources_of(workspace: Workspace, path: str) -> "Sequence[Origin]":
    try:
        return read_origins(workspace, path).sources
    except NotFoundError:  # it does not say what it was taken from
        return ()


def changed_citations(workspace: Workspace, text: str) -> tuple[str, ...]:
    """Return what became of the lines that the file of an entry, given as text, cites and that are another text now."""
    from ..search.results import watch

    return watch(workspace)(text)


def read_backlinks(workspaces: Workspaces, name: str) -> tuple[Backlink, ...]:
    """Return the memories in use that link to one, by its name, title, alias or id, or its path."""
    where, address = locate(workspaces, name)
    return _backlinks(where, address.path, stated_id(_found(where, name).document.fields) or address.path)


def _backlinks(where: Workspace, path: str, identifier: str) -> tuple[Backlink, ...]:
    from ..index.index import ask
    from ..index.lookups import linking_to

    return tuple(Backlink(*row) for row in ask(where, lambda index: linking_to(index, identifier, path)))


def wiki_links(workspace: Workspace, text: str) -> Sequence[WikiLink]:
    """Return the wiki links of a text that lead to something in use: of several of a name, to the shortest path."""
    from ..formats.links import wiki_links as wiki_links_of
    from ..index.lookups import ask_current, files_called

    spans = list(wiki_links_of(text))
    if not spans:
        return ()
    called = ask_current(workspace, lambda index: files_called(index, {name for _, _, name in spans}))
    links = []
    for start, stop, name in spans:
        files = [file for file in called[name] if not workspace.layout.is_archived(file[1])]
        links += [WikiLink(start, stop, *file) for file in sorted(files, key=lambda file: len(file[1]))[:1]]
    return links


def read_key_history(workspaces: Workspaces, key: str, project: str = "") -> "KeyHistory":
    """Return every value of a key, with its time and who said it; raise NotFoundError where nothing filled it."""
    from ..index.lookups import KeyHistory, ValueOf
    from ..search.resolve import key_history

    values = tuple(
        ValueOf(**vars(value), workspace=where)
        for where in every(workspaces)
        for value in key_history(where, key, project)
    )
    if not values:
        raise NotFoundError(f"nothing has filled the key {key!r}", "`mem ls --key '*'` lists the keys there are")
    return KeyHistory(key, values)


class _Found(NamedTuple):
    """A memory on the disk."""

    workspace: Workspace
    place: Place
    name: str
    kind: str
    text: str  # of its file, records of JSON as markdown; empty for a conversation
    document: frontmatter.Document
    damage: Problem | None
    is_talk: bool
    notices: tuple[str, ...]
    digest: str = ""


def _found(workspaces: Workspaces, which: str | Which, *, as_file: bool = False) -> _Found:
    asked = Which(which) if isinstance(which, str) else which
    if asked.project and not asked.key:
        raise UsageError("a project says which entry of a key is meant", "give --key, or leave out --project")
    if bool(asked.name) == bool(asked.key):
        raise UsageError("nothing to read" if not asked.key else "two names", "name an id or a path, or give --key")
    where, address, notices = _located(every(workspaces), asked)
    kind = where.layout.kind_of(address.path) or "file"
    is_talk = kind == "session" and not as_file
    data = b"" if is_talk else atomic_files.read(where.path(address.path))
    text, damage = decoded(data)
    item = addresses.item_at(where, address)
    if item:
        address, kind, text = Place(str(address)), "entry", item.text
    elif addresses.is_items(address.path, kind) and not as_file:
        from ..formats.chunking import records_of

        text = records_of(address.path, text).text
    document, name = frontmatter.parse(text), asked.name or str(address)
    return _Found(where, address, name, kind, text, document, damage, is_talk, notices, atomic_files.digest(data))


def _located(found_in: Sequence[Workspace], asked: Which) -> tuple[Workspace, Place, tuple[str, ...]]:
    """Return what a name or a key means now, or meant at a date, and what is to be said of it."""
    if not (asked.key or asked.as_of):
        return (*locate(found_in, asked.name), ())
    from ..search.resolve import believed_at, values_of_key

    moment = found_in[0].moment("as of", asked.as_of, end=True)
    if asked.key:
        where, values = values_of_key(found_in, asked.key, asked.project, moment)
        others = ", ".join(link.id for link in values[1:])
        both = f"{values[0].id} and {others} both fill {asked.key}: `mem supersede` the one that is over"
        return where, Place(values[0].path), (both,) if others else ()
    where, address = locate(found_in, asked.name)
    if where.layout.kind_of(address.path) != "entry":
        raise UsageError(
            f"{address.path} is not an entry", "--as-of is for entries; `--history` shows a file's commits"
        )
    from ..beliefs.supersession import chain

    document = frontmatter.parse(decoded(atomic_files.read(where.path(address.path)))[0])
    links = chain(where, stated_id(document.fields) or address.path).links
    return where, believed_at(where, [link.id for link in links], moment, asked.name), ()


def _content(target: _Found, lines: str, *, raw: bool) -> str:
    """Return the whole text that a name means."""
    if target.is_talk:
        from ..search.provenance import said_at

        return said_at(target.workspace, target.place.path, target.place.anchor)
    if lines:
        return _lines(target.text, lines)
    if target.place.anchor:
        start, stop = addresses.part(target.workspace, target.place, target.text)
        return target.text[start:stop]
    if raw or target.kind != "entry" or target.document.problem:
        return target.text.removeprefix(BOM)
    return re.sub(r"\A(?:[ \t]*\r?\n)+", "", target.document.body)


def _conflict(text: str) -> Problem | None:
    line = conflict_marker(text)
    return None if line is None else Problem(line, "a git conflict marker: resolve the conflict")


def _lines(text: str, span: str) -> str:
    match = re.fullmatch(r"(\d*):(\d*)|(\d+)", span)
    if not match or span == ":":
        raise UsageError(f"lines {span!r}", "write A:B, such as 10:20")
    first = int(match[3] or match[1] or 1)
    last = int(match[3] or match[2] or 10**9)
    if first < 1 or last < first:
        raise UsageError(f"lines {span!r}", "lines are counted from 1, the first one first")
    return "".join(islice(lines_of(text), first - 1, last))

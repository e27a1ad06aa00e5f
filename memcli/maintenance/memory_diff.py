"""What became of entries between two versions of their files: each is known by its id, wherever its file lies.

Pure: compares texts that were read by others. Counters of use are told apart from what was changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Annotated, Any

from ..dataclass import dataclass
from ..formats.entry import FIELDS, SPELLINGS, Entry, read_entry, slot_of, stated_id
from ..formats.frontmatter import document as frontmatter
from ..formats.history import records
from ..formats.memory_page import CLOSING, HEADINGS, OPENING, Promoted, read_promoted
from ..formats.text_lines import conflict_marker, decoded, first_line, lines, shorten
from ..git.repository import FileVersions
from ..results import ChangedLines, FilePath, Id
from ..store.archive import KEEP
from ..store.layouts import MEM, Layout
from ..store.privacy import IGNORE
from ..store.settings import stated_settings
from ..store.workspace import MARKER

WORDS = {
    "new": "new",
    "changed": "changed",
    "confirmed": "confirmed",
    "superseded": "superseded",
    "forgotten": "forgotten",
    "restored": "restored",
    "purged": "purged",
    "flagged": "flagged",
    "settled": "settled",
    "clash": "filling one key twice",
    "promoted": "promoted",
    "demoted": "taken off the page",
    "page": "on the page",
    "history": "in history",
    "note": "in notes",
    "setting": "in settings",
    "file": "in other files",
    "moved": "moved",
    "counted": "counted",
    "unreadable": "unreadable",
}
"""The kinds of changes in the order they are told, each with the words that follow its number."""
_COUNTERS = ("access_count", "last_accessed_at")
_FLAGS = ("conflicts_with", "verdicts", "verdict_reasons")
_FORGETTING = ("forgotten_at", "forgotten_by", "reason")
_REPORTED_APART = ("id", "status", "superseded_by", "superseded_at", *_FORGETTING, *_FLAGS, "strength")
_EPOCH = datetime.fromtimestamp(0, UTC)
_SPELLED = {name for key, others in SPELLINGS.items() for name in (key, *others)} | {"active", "metadata"}


@dataclass(frozen=True)
class FieldChange:
    """A field of an entry, or a setting, that has another value; None where it has none."""

    name: Annotated[str, "its name"]
    before: Annotated[Any, "its value of before; null where it had none"]
    after: Annotated[Any, "its value now; null where it has none"]


@dataclass(frozen=True)
class OtherEntry:
    """An entry that has to do with a change."""

    id: Id
    summary: Annotated[str, "what it says, in one line; empty where its file did not change"]


@dataclass(frozen=True)
class MemoryChange:
    """One thing that became of one memory."""

    kind: Annotated[
        str,
        "new, changed, confirmed, superseded, forgotten, restored, purged, flagged, settled, clash, promoted, demoted,"
        " page, history, note, setting, file, moved, counted or unreadable",
    ]  # one of WORDS
    id: Annotated[str, "of the entry or record; empty for what has none"]
    path: FilePath  # as it is afterwards
    summary: Annotated[
        str, "what it says, in one line; of settings and other files whether they were made, changed or removed"
    ]
    type: Annotated[str, "the type of an entry; empty for what is none"] = ""
    source: Annotated[str, "user, observed or inferred, as the entry says; empty for what is none"] = ""
    others: Annotated[
        tuple[OtherEntry, ...], "what took its place, what it is flagged with, or what fills its key too"
    ] = ()
    fields: Annotated[tuple[FieldChange, ...], "fields of an entry, or settings, that have another value"] = ()
    lines: ChangedLines = ()

    @property
    def details(self) -> list[str]:
        """Return what is to be said besides the kind and the lines, a line each: other entries, fields."""
        word = {"superseded": "by ", "flagged": "with ", "settled": "with ", "clash": "filled too by "}.get(
            self.kind, ""
        )
        details = [f"{word}{entry.id}{f': {entry.summary}' if entry.summary else ''}" for entry in self.others]
        for field in self.fields:
            was = "" if field.before is None else f"{_written(field.before)} → "
            details.append(f"{field.name}: {was}{_written(field.after)}")
        return details


@dataclass(frozen=True)
class EntryVersion:
    """An entry's file at one of the two moments."""

    name: str  # what it is known by at both: its id, or its path
    path: str
    text: str
    body: str
    entry: Entry | None  # None where it cannot be read
    others: Mapping[str, Any]  # keys of the frontmatter that are not mem's
    is_archived: bool
    reason: str = ""  # why it cannot be read

    @property
    def status(self) -> str:
        """Return the status that counts: a file in the archive is archived whatever it says."""
        return "archived" if self.is_archived else self.entry.status if self.entry else "active"

    def change(self, kind: str, **more: Any) -> MemoryChange:
        """Return a change of a kind, with what the entry is."""
        entry = self.entry
        about = (entry.summary, entry.type, entry.source) if entry else (first_line(self.body), "", "")
        return MemoryChange(kind, self.name, self.path, *about, **more)


def entry_version(layout: Layout, path: str, data: bytes) -> EntryVersion:
    """Return an entry as its file has it at one moment."""
    text = decoded(data)[0].replace("\r\n", "\n")
    document = frontmatter.parse(text)
    path_in_use, is_archived = path.removeprefix(layout.archive), layout.is_archived(path)
    reason = document.problem.reason if document.problem else "a git conflict marker" if conflict_marker(text) else ""
    if reason:
        return EntryVersion(stated_id(document.fields) or path_in_use, path, text, text, None, {}, is_archived, reason)
    entry, _ = read_entry(document, path_in_use, _EPOCH)
    others = {key: as_json(value) for key, value in document.fields.items() if key not in _SPELLED}
    return EntryVersion(entry.id, path, text, document.body.strip("\n"), entry, others, is_archived)


def entry_changes(
    before: EntryVersion | None, after: EntryVersion | None, summaries: Mapping[str, str]
) -> Iterator[MemoryChange]:
    """Yield what became of one entry; `summaries` are those of other entries, by id."""
    last = after or before
    if last is None or (last.entry and last.entry.version_of):
        return  # the earlier text that a change keeps comes with that change
    if before is None or after is None:
        bodies = (side.body if side else "" for side in (before, after))
        yield last.change("new" if after else "purged", lines=changed_lines(*bodies))
    if after is None:
        return
    status = before.status if before else "active"
    if (status == "archived") != (after.status == "archived"):
        yield last.change("restored" if status == "archived" else "forgotten")
    old = before.entry if before else None
    if after.entry is None:
        yield last.change("unreadable", fields=(FieldChange("reason", None, after.reason),))
    else:
        yield from _relations(old, status, after, after.entry, summaries)
    if before and old and after.entry:
        yield from _differences(before, after, old, after.entry)
    elif before:
        yield last.change("changed", lines=changed_lines(before.text, after.text))


def _relations(
    old: Entry | None, status: str, after: EntryVersion, new: Entry, summaries: Mapping[str, str]
) -> Iterator[MemoryChange]:
    """Yield what an entry is to others from now on: superseded by one, back in its place, flagged, or not."""

    def named(*ids: str) -> tuple[OtherEntry, ...]:
        return tuple(OtherEntry(identifier, summaries.get(identifier, "")) for identifier in ids if identifier)

    successor = old.superseded_by if old else None
    if after.status == "superseded" and (status, successor) != ("superseded", new.superseded_by):
        yield after.change("superseded", others=named(new.superseded_by))
    elif (status, after.status) == ("superseded", "active"):
        yield after.change("restored")
    flags = old.conflicts_with if old else ()
    for kind, ids, without in (("flagged", new.conflicts_with, flags), ("settled", flags, new.conflicts_with)):
        if others := named(*(identifier for identifier in ids if identifier not in without)):
            yield after.change(kind, others=others)


def _differences(before: EntryVersion, after: EntryVersion, old: Entry, new: Entry) -> Iterator[MemoryChange]:
    """Yield confirmations and changes of an entry's text and fields, or that only its counters or its path changed."""
    was, is_now = ({name: as_json(getattr(entry, name)) for name in FIELDS} for entry in (old, new))
    quiet = {*_COUNTERS, "updated_at", *_REPORTED_APART}
    is_confirmed = new.strength > old.strength
    if is_confirmed:
        names = ["strength"] + ["sources"] * bool({*map(str, new.sources)} - {*map(str, old.sources)})
        quiet |= {*names}
        yield after.change("confirmed", fields=_fields(was, is_now, names))
    elif new.strength < old.strength:
        quiet.discard("strength")
    fields = _fields(was, is_now, [name for name in FIELDS if name not in quiet])
    fields += _fields(before.others, after.others, {**before.others, **after.others})
    text = changed_lines(before.body, after.body)
    if fields or text:
        yield after.change("changed", fields=fields, lines=text)
        return
    if before.path != after.path and before.is_archived == after.is_archived:
        yield after.change("moved", fields=(FieldChange("path", before.path, after.path),))
    if not is_confirmed and (counters := _fields(was, is_now, _COUNTERS)):
        yield after.change("counted", fields=counters)


def _fields(old: Mapping[str, Any], new: Mapping[str, Any], names: Iterable[str]) -> tuple[FieldChange, ...]:
    changes = (FieldChange(name, old.get(name), new.get(name)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def as_json(value: Any) -> Any:
    """Return a value as JSON has it; empty is None."""
    if isinstance(value, tuple | list):
        value = [item if isinstance(item, str | int | float) else str(item) for item in value]
    elif isinstance(value, Mapping):
        value = {str(key): str(item) for key, item in value.items()}
    if value is None or value in ("", [], {}):
        return None
    return value if isinstance(value, str | int | float | list | dict) else str(value)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def changed_lines(old: str, new: str) -> tuple[str, ...]:
    """Return the lines taken out and put in, in their order, each after `-` or `+`; blank ones are left out."""
    before, after = ([line.rstrip("\r\n") for line in lines(text)] for text in (old, new))
    changed = list(unified_diff(before, after, n=0, lineterm=""))[2:]
    return tuple(line for line in changed if line[0] in "-+" and line[1:].strip())


def key_clashes(
    layout: Layout,
    before: Mapping[str, EntryVersion],
    after: Mapping[str, EntryVersion],
    entries_after: Callable[[], Mapping[str, bytes]],
) -> Iterator[MemoryChange]:
    """Yield the keys that two active entries fill since a change to one of them."""
    old, new = ({name: _slot(version) for name, version in sides.items()} for sides in (before, after))
    changed = {name: slot for name, slot in new.items() if any(slot) and old.get(name) != slot}
    versions_by_slot: dict[tuple[str, str], list[EntryVersion]] = {slot: [] for slot in sorted(changed.values())}
    for path, data in entries_after().items() if changed else ():
        if b"key" in data and not layout.is_archived(path):
            version = entry_version(layout, path, data)
            if (slot := _slot(version)) in versions_by_slot:
                versions_by_slot[slot].append(version)
    for slot, versions in versions_by_slot.items():
        touched = [version for version in versions if changed.get(version.name) == slot]
        last = max(touched, key=lambda version: version.entry.updated_at if version.entry else "", default=None)
        if last and last.entry and len(versions) > 1:
            others = tuple(
                OtherEntry(version.name, version.entry.summary)
                for version in versions
                if version is not last and version.entry
            )
            yield last.change("clash", others=others, fields=(FieldChange("key", None, last.entry.key),))


def _slot(version: EntryVersion) -> tuple[str, str]:
    """Return the slot that an active entry fills; of empty words where there is none."""
    entry = version.entry if version.status == "active" else None
    return slot_of(entry.key, entry.project) if entry and entry.key else ("", "")


_RULES = (MARKER, ".gitignore", ".gitattributes", IGNORE)
"""Files beside the memories that say how these are treated."""


def is_told(layout: Layout, path: str) -> bool:
    """Return whether a file has to do with memory: in a folder of another tool others lie beside it."""
    kind = layout.kind_of(path)
    return layout.name == MEM.name or kind is not None or path in _RULES or layout.is_archived(path)


def headline(changes: Iterable[MemoryChange]) -> str:
    """Say in one line what changed: `3 new, 1 superseded, 2 in notes`."""
    counts = Counter(change.kind for change in changes)
    return ", ".join(f"{counts[kind]:,} {words}" for kind, words in WORDS.items() if counts[kind])


def memory_changes(
    layout: Layout, files: Sequence[FileVersions], entries_after: Callable[[], Mapping[str, bytes]]
) -> list[MemoryChange]:
    """Return what became of memories, by kind in the order of `WORDS` and then by path.

    `entries_after` reads all entries as they are afterwards; it is asked only where a changed entry fills a key.
    """
    changes: list[MemoryChange] = []
    before: dict[str, EntryVersion] = {}
    after: dict[str, EntryVersion] = {}
    for file in files:
        kind = layout.kind_of(file.path)
        if kind == "entry" and not file.is_link:
            for sides, data in ((before, file.before), (after, file.after)):
                if data is not None:
                    side = entry_version(layout, file.path, data)
                    sides[side.name if side.name not in sides else file.path] = side
        else:
            changes += _of_file(layout, file, kind)
    _match_named(layout, before, after)
    changes = [*_as_moves(layout, changes, files), *key_clashes(layout, before, after, entries_after)]
    summaries = {side.entry.id: side.entry.summary for side in (*before.values(), *after.values()) if side.entry}
    for name in {**before, **after}:
        changes += entry_changes(before.get(name), after.get(name), summaries)
    order = list(WORDS)
    return sorted(changes, key=lambda change: (order.index(change.kind), change.path, change.id))


def _match_named(layout: Layout, before: dict[str, EntryVersion], after: Mapping[str, EntryVersion]) -> None:
    """Know an entry as one that was given an id, or has none any more: until then its path names it."""
    new = {version.path: name for name, version in after.items() if name not in before}
    for name, version in list(before.items()):
        other = new.get(version.path)
        if name not in after and other and version.path.removeprefix(layout.archive) in (name, other):
            before[other] = before.pop(name)


def _of_file(layout: Layout, file: FileVersions, kind: str | None) -> Iterator[MemoryChange]:
    """Yield what became of a file that is no entry."""
    if file.path.rpartition("/")[2] == KEEP or kind == "session":
        return
    old, new = (decoded(data or b"")[0].replace("\r\n", "\n") for data in (file.before, file.after))
    fate = "made" if file.before is None else "removed" if file.after is None else "changed"
    if layout.is_archived(file.path) or file.is_link:
        yield MemoryChange("file", "", file.path, fate)
    elif kind == "memory":
        yield from _of_page(file.path, old, new)
    elif kind == "history":
        yield from _of_history(file.path, old, new)
    elif file.path == MARKER:
        was, is_now = ({name: as_json(value) for name, value in stated_settings(text).items()} for text in (old, new))
        if fields := _fields(was, is_now, sorted({**was, **is_now})):
            yield MemoryChange("setting", "", file.path, fate, fields=fields)
    else:
        text = () if "\0" in old + new else changed_lines(old, new)
        is_note = bool(kind and text)
        summary = shorten(text[0][1:]) if is_note else fate
        yield MemoryChange("note" if is_note else "file", "", file.path, summary, lines=text)


def _of_page(path: str, old: str, new: str) -> Iterator[MemoryChange]:
    """Yield what became of the promoted lines of a page, and of the rest of it."""
    before, after = read_promoted(old), read_promoted(new)
    if after.problem:
        reason = FieldChange("reason", None, after.problem.reason)
        yield MemoryChange("unreadable", "", path, first_line(new), fields=(reason,), lines=changed_lines(old, new))
        return
    was, is_now = ({line.id: line.statement for line in page.lines} for page in (before, after))
    for name, statement in {**was, **is_now}.items():
        if was.get(name) != is_now.get(name):
            text = tuple(f"{mark}{page[name]}" for mark, page in (("-", was), ("+", is_now)) if name in page)
            yield MemoryChange("promoted" if name in is_now else "demoted", name, path, statement, lines=text)
    if others := changed_lines(_unpromoted(old, before), _unpromoted(new, after)):
        yield MemoryChange("page", "", path, shorten(others[0][1:]), lines=others)


def _unpromoted(text: str, page: Promoted) -> str:
    """Return what a page says besides its promoted lines."""
    for line in reversed(page.lines):
        text = text[: line.start] + text[line.end :]
    marks = (OPENING, CLOSING, *HEADINGS) if page.block else ()
    return "".join(line for line in lines(text) if line.strip() not in marks)


def _of_history(path: str, old: str, new: str) -> Iterator[MemoryChange]:
    """Yield the records that a file of history has since, or has no more, and those whose text is another."""
    was, is_now = ({record.id or record.text: record for record in records(text)} for text in (old, new))
    for name, record in {**was, **is_now}.items():
        texts = [page[name].text if name in page else "" for page in (was, is_now)]
        if texts[0] != texts[1]:
            yield MemoryChange("history", record.id, path, shorten(record.text), lines=changed_lines(*texts))


def _as_moves(layout: Layout, changes: Iterable[MemoryChange], files: Sequence[FileVersions]) -> Iterator[MemoryChange]:
    """Yield the changes, with files put into the archive or brought back as one: forgotten, restored."""
    deleted = {file.path: file.before for file in files if file.after is None}
    new = {file.path: file.after for file in files if file.before is None}
    moves: dict[str, str] = {}
    for kind, texts, archived in (("forgotten", deleted, new), ("restored", new, deleted)):
        moves |= {path: kind for path, data in texts.items() if archived.get(f"{layout.archive}{path}") == data}
    hidden = {*moves, *(f"{layout.archive}{path}" for path in moves)}
    yield from (change for change in changes if change.path not in hidden)
    for path, kind in moves.items():
        if layout.kind_of(path) != "entry":
            yield MemoryChange(kind, "", f"{layout.archive}{path}" if kind == "forgotten" else path, path)

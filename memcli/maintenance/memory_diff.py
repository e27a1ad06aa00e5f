"""What became of entries between two versions of their files: each is known by its id, wherever its file lies.

Pure: compares texts that were read by others. Counters of use are told apart from what was changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from difflib import unified_diff
from functools import partial
from typing import Annotated, Any

from ..beliefs.supersession import slot_of
from ..dataclass import dataclass
from ..formats.entry import FIELDS, SPELLINGS, Entry, read_entry, stated_id
from ..formats.frontmatter import document as frontmatter
from ..formats.history import records
from ..formats.memory_page import CLOSING, HEADINGS, OPENING, Promoted, read_promoted
from ..formats.text_lines import conflict_marker, decoded, first_line, lines, shorten
from ..git.repository import FileVersions
from ..results import ChangedLines, FilePath, Id
from ..store.archive import KEEP, records_folder
from ..store.layouts import MEM, Layout, is_records
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
_COUNTERS = ("access_count", "last_accessed_at", "updated_at")
_FLAGS = ("conflicts_with", "verdicts", "verdict_reasons", "likely_same")
_FORGETTING = ("forgotten_at", "forgotten_by", "reason", "archived_as")
_TOLD_ELSEWHERE = ("id", "status", "superseded_by", "superseded_at", *_FORGETTING, *_FLAGS, "strength")
_EPOCH = datetime.fromtimestamp(0, UTC)
_SPELLED = {name for key, others in SPELLINGS.items() for name in (key, *others)} | {"active"}


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
        found = [f"{word}{one.id}{f': {one.summary}' if one.summary else ''}" for one in self.others]
        for one in self.fields:
            was = "" if one.before is None else f"{_written(one.before)} → "
            found.append(f"{one.name}: {was}{_written(one.after)}")
        return found


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

    @property
    def is_in_use(self) -> bool:
        """Return whether it is active."""
        return self.status == "active"


def entry_version(layout: Layout, path: str, data: bytes) -> EntryVersion:
    text = decoded(data)[0].replace("\r\n", "\n")
    document = frontmatter.parse(text)
    place = path.removeprefix(layout.archive)
    is_archived = layout.is_archived(path)
    conflict = conflict_marker(text)
    if document.problem or conflict:
        reason = document.problem.reason if document.problem else "a git conflict marker"
        return EntryVersion(stated_id(document.fields) or place, path, text, text, None, {}, is_archived, reason)
    entry, _ = read_entry(document, place, _EPOCH)
    others = {key: value for key, value in document.fields.items() if key not in _SPELLED | {"metadata"}}
    return EntryVersion(entry.id, path, text, document.body.strip("\n"), entry, others, is_archived)


def entry_changes(
    before: EntryVersion | None, after: EntryVersion | None, known: Mapping[str, str]
) -> Iterator[MemoryChange]:
    """Yield what became of one entry."""
    last = after or before
    if last is None or (last.entry and last.entry.version_of):
        return  # the text of before that a change keeps is told by the change

    told = partial(_change, one=last)
    if before is None or after is None:
        yield told("purged" if after is None else "new", lines=changed_lines(_body(before), _body(after)))
    was = before.status if before else "active"
    if after is not None and (was == "archived") != (after.status == "archived"):
        yield told("restored" if was == "archived" else "forgotten")
    if after is not None and after.entry is None:
        yield told("unreadable", fields=(FieldChange("reason", None, after.reason),))
        if before is not None:
            yield told("changed", lines=changed_lines(before.text, after.text))
        return
    if after is None or after.entry is None:
        return
    yield from _standing(before, after.entry, after.status, known, told)
    if before is not None and before.entry is None:
        yield told("changed", lines=changed_lines(before.text, after.text))
    elif before is not None and before.entry is not None:
        yield from _difference(before, after, before.entry, after.entry, told)


def _change(kind: str, one: EntryVersion, **more: Any) -> MemoryChange:
    entry = one.entry
    told = (entry.summary, entry.type, entry.source) if entry else (first_line(one.body), "", "")
    return MemoryChange(kind, one.name, one.path, *told, **more)


def _standing(
    before: EntryVersion | None, entry: Entry, status: str, known: Mapping[str, str], told: Callable[..., MemoryChange]
) -> Iterator[MemoryChange]:
    """Yield what an entry is to others from now on: superseded by one, back in its place, flagged, or not."""
    old = before.entry if before else None
    was = before.status if before else "active"
    heir = (OtherEntry(entry.superseded_by, known.get(entry.superseded_by, "")),) if entry.superseded_by else ()
    if status == "superseded" and (was, old and old.superseded_by) != (status, entry.superseded_by):
        yield told("superseded", others=heir)
    elif was == "superseded" and status == "active":
        yield told("restored")
    flags = old.conflicts_with if old else ()
    for kind, one, other in (("flagged", entry.conflicts_with, flags), ("settled", flags, entry.conflicts_with)):
        if names := [name for name in one if name not in other]:
            yield told(kind, others=tuple(OtherEntry(name, known.get(name, "")) for name in names))


def _difference(
    before: EntryVersion, after: EntryVersion, old: Entry, new: Entry, told: Callable[..., MemoryChange]
) -> Iterator[MemoryChange]:
    """Yield confirmations and changes of an entry's text and fields, or that only its counters or its place changed."""
    has_new_sources = bool(set(map(str, new.sources)) - set(map(str, old.sources)))
    is_confirmed = new.strength > old.strength
    quiet = {*_COUNTERS, *_TOLD_ELSEWHERE}
    if is_confirmed:
        quiet |= {"sources"} if has_new_sources else set()
        fields = [FieldChange("strength", old.strength, new.strength)]
        yield told("confirmed", fields=tuple(fields + _fields(old, new, ("sources",) if has_new_sources else ())))
    elif new.strength < old.strength:
        quiet.discard("strength")
    changes = _fields(old, new, [name for name in FIELDS if name not in quiet])
    names = {**before.others, **after.others}
    changes += [
        FieldChange(name, as_json(before.others.get(name)), as_json(after.others.get(name)))
        for name in names
        if before.others.get(name) != after.others.get(name)
    ]
    text = changed_lines(before.body, after.body)
    is_moved = before.path != after.path and before.is_archived == after.is_archived
    if changes or text:
        yield told("changed", fields=tuple(changes), lines=text)
    elif is_moved:
        yield told("moved", fields=(FieldChange("path", before.path, after.path),))
    counters = _fields(old, new, _COUNTERS[:2])
    if counters and not (changes or text or is_confirmed):
        yield told("counted", fields=tuple(counters))


def _fields(old: Entry, new: Entry, names: Iterable[str]) -> list[FieldChange]:
    pairs = [(name, getattr(old, name), getattr(new, name)) for name in names]
    return [FieldChange(name, as_json(one), as_json(other)) for name, one, other in pairs if one != other]


def as_json(value: Any) -> Any:
    """Return a value as JSON has it; empty is None."""
    if isinstance(value, tuple | list):
        value = [one if isinstance(one, str | int | float) else str(one) for one in value]
    elif isinstance(value, Mapping):
        value = {str(key): str(one) for key, one in value.items()}
    if value is None or value in ("", [], {}):
        return None
    return value if isinstance(value, str | int | float | list | dict) else str(value)


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _body(side: EntryVersion | None) -> str:
    return side.body if side else ""


def changed_lines(old: str, new: str) -> tuple[str, ...]:
    """Return the lines taken out and put in, in their order, each after `-` or `+`; blank ones are left out."""
    one, other = ([line.rstrip("\r\n") for line in lines(text)] for text in (old, new))
    found = list(unified_diff(one, other, n=0, lineterm=""))[2:]
    return tuple(line for line in found if line[0] in "-+" and line[1:].strip())


def key_clashes(
    layout: Layout,
    before: Mapping[str, EntryVersion],
    after: Mapping[str, EntryVersion],
    entries_after: Callable[[], Mapping[str, bytes]],
) -> Iterator[MemoryChange]:
    """Yield the keys that two active entries fill since a change to one of them."""
    old, touched = (
        {name: slot_of(one.entry) for name, one in sides.items() if one.entry and one.entry.key and one.is_in_use}
        for sides in (before, after)
    )
    slots = {slot for name, slot in touched.items() if old.get(name) != slot}
    if not slots:
        return
    filling: dict[tuple[str, str], list[EntryVersion]] = {}
    for path, data in entries_after().items():
        if b"key" in data and not layout.is_archived(path):
            one = entry_version(layout, path, data)
            if one.entry and one.is_in_use and slot_of(one.entry) in slots:
                filling.setdefault(slot_of(one.entry), []).append(one)
    for slot, sides in sorted(filling.items()):
        new = [one for one in sides if touched.get(one.name) == slot and old.get(one.name) != slot]
        if len(sides) > 1 and new:
            last = max(new, key=lambda one: one.entry.updated_at if one.entry else "")
            others = tuple(OtherEntry(one.name, one.entry.summary) for one in sides if one is not last and one.entry)
            key = FieldChange("key", None, last.entry.key if last.entry else "")
            yield _change("clash", last, others=others, fields=(key,))


_RULES = (MARKER, ".gitignore", ".gitattributes", IGNORE)
"""Files beside the memories that say how these are treated."""


def is_told(layout: Layout, path: str) -> bool:
    """Return whether a file has to do with memory: in a folder of another tool others lie beside it."""
    kind = layout.kind_of(path)
    return layout.name == MEM.name or kind is not None or path in _RULES or layout.is_archived(path)


def headline(changes: Iterable[MemoryChange]) -> str:
    """Say in one line what changed: `3 new, 1 superseded, 2 in notes`."""
    counts = Counter(one.kind for one in changes)
    return ", ".join(f"{counts[kind]:,} {words}" for kind, words in WORDS.items() if counts[kind])


_NUMBERED = {"note": ("note", "notes"), "history": ("history record", "history records")}
_PLAIN = {"page": "long-term memory", "setting": "settings"}
_UNSAID = ("file", "moved", "counted")


def in_words(changes: Iterable[MemoryChange]) -> str:
    """Say in one line what changed: `3 new, 1 superseded, 2 notes`."""
    counts = Counter[str]()
    for one in changes:
        counts[one.kind] += sum(line.startswith("+[") for line in one.lines) or 1 if one.kind == "note" else 1
    found = []
    for kind, words in WORDS.items():
        if counts[kind] and kind not in _UNSAID:
            several = _NUMBERED.get(kind, (words, words))[counts[kind] > 1]
            found.append(_PLAIN.get(kind) or f"{counts[kind]:,} {several}")
    return ", ".join(found) or "upkeep"


def memory_changes(
    layout: Layout, files: Sequence[FileVersions], entries_after: Callable[[], Mapping[str, bytes]]
) -> list[MemoryChange]:
    """Return what became of memories, by kind in the order of `WORDS` and then by path.

    `entries_after` reads all entries as they are afterwards; it is asked only where a changed entry fills a key.
    """
    found: list[MemoryChange] = []
    before: dict[str, EntryVersion] = {}
    after: dict[str, EntryVersion] = {}
    for file in files:
        kind = layout.kind_of(file.path)
        if kind == "entry" and not is_records(file.path, kind) and not file.is_link:
            for sides, data in ((before, file.before), (after, file.after)):
                if data is not None:
                    side = entry_version(layout, file.path, data)
                    sides[side.name if side.name not in sides else file.path] = side
        else:
            found += _of_file(layout, file, kind)
    _match_named(layout, before, after)
    found = list(_without_moves(layout, found, files))
    known = {side.entry.id: side.entry.summary for side in (*before.values(), *after.values()) if side.entry}
    for name in dict.fromkeys([*before, *after]):
        found += entry_changes(before.get(name), after.get(name), known)
    found += key_clashes(layout, before, after, entries_after)
    order = list(WORDS)
    return sorted(found, key=lambda one: (order.index(one.kind), one.path, one.id))


def _match_named(layout: Layout, before: dict[str, EntryVersion], after: Mapping[str, EntryVersion]) -> None:
    """Know an entry as one that was given an id, or has none any more: until then its path names it."""
    new = {one.path: name for name, one in after.items() if name not in before}
    for name, one in list(before.items()):
        other = new.get(one.path)
        if name not in after and other and one.path.removeprefix(layout.archive) in (name, other):
            before[other] = before.pop(name)


def _of_file(layout: Layout, file: FileVersions, kind: str | None) -> Iterator[MemoryChange]:
    """Yield what became of a file that is no entry."""
    if file.path.startswith(f"{records_folder(layout)}/") or file.path.rpartition("/")[2] == KEEP or kind == "session":
        return
    old, new = (decoded(data or b"")[0].replace("\r\n", "\n") for data in (file.before, file.after))
    if layout.is_archived(file.path) or file.is_link:
        yield MemoryChange("file", "", file.path, _made(file))
    elif kind == "memory":
        yield from _of_page(file.path, old, new)
    elif kind == "history" and not is_records(file.path, kind):
        yield from _of_history(file.path, old, new)
    elif file.path == MARKER:
        values = [stated_settings(text) for text in (old, new)]
        changes = [
            FieldChange(name, *(as_json(one.get(name)) for one in values))
            for name in sorted({*values[0], *values[1]})
            if values[0].get(name) != values[1].get(name)
        ]
        if changes:
            yield MemoryChange("setting", "", file.path, _made(file), fields=tuple(changes))
    elif text := () if "\0" in old + new else changed_lines(old, new):
        summary = shorten(text[0][1:]) if kind else _made(file)
        yield MemoryChange("note" if kind else "file", "", file.path, summary, lines=text)
    else:
        yield MemoryChange("file", "", file.path, _made(file))


def _made(file: FileVersions) -> str:
    return "made" if file.before is None else "removed" if file.after is None else "changed"


def _of_page(path: str, old: str, new: str) -> Iterator[MemoryChange]:
    """Yield what became of the promoted lines of a page, and of the rest of it."""
    before, after = read_promoted(old), read_promoted(new)
    if after.problem:
        reason = FieldChange("reason", None, after.problem.reason)
        yield MemoryChange("unreadable", "", path, first_line(new), fields=(reason,), lines=changed_lines(old, new))
        return
    was, is_now = ({one.id: one.statement for one in page.lines} for page in (before, after))
    for name in dict.fromkeys([*was, *is_now]):
        if was.get(name) != is_now.get(name):
            kind = "promoted" if name in is_now else "demoted"
            text = tuple(f"{mark}{page[name]}" for mark, page in (("-", was), ("+", is_now)) if name in page)
            yield MemoryChange(kind, name, path, is_now.get(name) or was[name], lines=text)
    if rest := changed_lines(_free(old, before), _free(new, after)):
        yield MemoryChange("page", "", path, shorten(rest[0][1:]), lines=rest)


def _free(text: str, page: Promoted) -> str:
    """Return what a page says besides its promoted lines."""
    kept, at = [], 0
    for line in page.lines:
        kept.append(text[at : line.start])
        at = line.end
    marks = (OPENING, CLOSING, *HEADINGS) if page.block else ()
    return "".join(line for line in lines("".join([*kept, text[at:]])) if line.strip() not in marks)


def _of_history(path: str, old: str, new: str) -> Iterator[MemoryChange]:
    """Yield the records that a file of history has since, or has no more, and those whose text is another."""
    was, is_now = ({one.id or one.text: one for one in records(text)} for text in (old, new))
    for name in dict.fromkeys([*was, *is_now]):
        texts = [page[name].text if name in page else "" for page in (was, is_now)]
        if texts[0] != texts[1]:
            one = is_now.get(name) or was[name]
            yield MemoryChange("history", one.id, path, shorten(one.text), lines=changed_lines(*texts))


def _without_moves(
    layout: Layout, found: Iterable[MemoryChange], files: Sequence[FileVersions]
) -> Iterator[MemoryChange]:
    """Yield the changes, with files put into the archive or brought back as one: forgotten, restored."""
    old = {file.path: file.before for file in files if file.after is None}
    new = {file.path: file.after for file in files if file.before is None}
    into = {path: f"{layout.archive}{path}" for path in old if new.get(f"{layout.archive}{path}") == old[path]}
    back = {path: f"{layout.archive}{path}" for path in new if old.get(f"{layout.archive}{path}") == new[path]}
    gone = {*into, *into.values(), *back, *back.values()}
    yield from (one for one in found if one.path not in gone)
    for kind, moved in (("forgotten", into), ("restored", back)):
        for path, archived in moved.items():
            if layout.kind_of(path) != "entry":
                yield MemoryChange(kind, "", archived if kind == "forgotten" else path, path)

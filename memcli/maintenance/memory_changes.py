"""What changed between two versions of a workspace's files, in the words of memory and not of files.

Pure: compares texts that were read by others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..formats.history import records
from ..formats.memory_page import CLOSING, HEADINGS, OPENING, Promoted, read_promoted
from ..formats.text_lines import decoded, first_line, lines, shorten
from ..store.archive import KEEP, records_folder
from ..store.layouts import MEM, Layout, is_records
from ..store.privacy import IGNORE
from ..store.revisions import FileVersions
from ..store.settings import stated_settings
from ..store.workspace import MARKER
from .entry_changes import (
    WORDS,
    EntryVersion,
    FieldChange,
    MemoryChange,
    as_json,
    changed_lines,
    entry_changes,
    entry_version,
    key_clashes,
)

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

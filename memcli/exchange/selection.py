"""The filters of `ls` for memories that are not in an index yet."""

from fnmatch import fnmatchcase

from ..index.filters import Filter
from ..store.layout import is_archived
from ..text.entry import Entry
from .parcel import Parcel


def passes(wanted: Filter, parcel: Parcel, entry: Entry | None) -> bool:
    """Tell whether a file is among those wanted; days narrow entries only."""
    if wanted.kinds and parcel.kind not in wanted.kinds:
        return False
    for paths in (wanted.paths, wanted.below):
        if paths and not any(_fits(parcel.path, one) for one in paths):
            return False
    status = "archived" if is_archived(parcel.path) else entry.status if entry else "active"
    if wanted.statuses and status not in wanted.statuses:
        return False
    return _entry_passes(wanted, entry) if entry is not None else not wanted.asks_entries


def _entry_passes(wanted: Filter, entry: Entry) -> bool:
    tags = {tag.lower() for tag in entry.tags}
    return (
        (not wanted.types or entry.type in wanted.types)
        and (not wanted.layers or entry.layer in wanted.layers)
        and (not wanted.sources or entry.source in wanted.sources)
        and (not wanted.projects or entry.project in wanted.projects)
        and all(tag.lstrip("#").lower() in tags for tag in wanted.tags)
        and (not wanted.keys or _fits_key(entry.key, wanted.keys))
        and (not wanted.since or entry.updated_at >= wanted.since)
        and (not wanted.until or entry.updated_at <= wanted.until)
    )


def _fits_key(key: str, globs: tuple[str, ...]) -> bool:
    return bool(key) and any(fnmatchcase(key.casefold(), one.casefold()) for one in globs)


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) if any(mark in pattern for mark in "*?[") else path.startswith(pattern)

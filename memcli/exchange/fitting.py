"""Where a file that comes from another layout goes in this one; knows names and kinds, and looks at no disk."""

from collections.abc import Iterator

from ..store.layout import ARCHIVES, Layout, is_archived
from ..text.note import day_in
from .export import SESSION_DATA
from .parcel import Parcel


def place_in(layout: Layout, parcel: Parcel) -> str:
    """Give the path a file has in a layout: its own where that fits, else the one its kind has there.

    Raises ValueError where there is none.
    """
    prefix = layout.archive if is_archived(parcel.path) else ""
    inner = parcel.path
    for archive in ARCHIVES:
        inner = inner.removeprefix(archive)
    folder, _, name = inner.rpartition("/")
    kind = layout.kind_of(f"{folder}/session.jsonl" if name == SESSION_DATA else inner)
    if kind and parcel.kind in ("", kind):
        return prefix + inner
    for path, wanted in _candidates(layout, parcel.kind or "entry", inner.removeprefix("memory/"), name):
        if layout.kind_of(path) == wanted:
            return prefix + path
    raise ValueError(f"{parcel.path} has no place in the layout {layout.name}")


def is_another_tools_store(layout: Layout, parcel: Parcel) -> bool:
    """Tell whether a file is a store of another tool's own form, which only its own layout reads in place."""
    name = parcel.path.rpartition("/")[2]
    is_store = name.endswith((".json", ".jsonl")) and name not in ("session.jsonl", SESSION_DATA)
    return is_store and parcel.kind in ("note", "session") and layout.kind_of(parcel.path) is None


def _candidates(layout: Layout, kind: str, inner: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield where a file of another layout might go, with the kind it would have there."""
    day = day_in(name)
    if kind == "memory" and name.casefold() == "memory.md":
        yield layout.memory, kind
    if kind == "note" and day:
        yield f"{layout.notes.rpartition('/')[0]}/{name}".lstrip("/"), kind
        yield layout.notes.format(date=day), kind
    if kind == "history":
        yield f"{layout.history.rpartition('/')[0]}/{name}".lstrip("/"), kind
    if kind in ("entry", "memory", "note"):
        yield f"{layout.entries}/{inner}".lstrip("/"), "entry"

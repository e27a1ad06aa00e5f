"""The settings of a workspace as a line of an export: they come along, and never take the place of somebody's.

Only a file as `mem init` makes it, which sets nothing, makes room. Where files lie is never taken over: what the same
import brings in was placed by the settings of the workspace.
"""

from collections.abc import Iterator, Mapping

from ..errors import MemError
from ..store import files
from ..store.init import MARKER_TEXT
from ..store.placing import place
from ..store.settings import FORMAT_KEY
from ..store.workspace import MARKER, Workspace
from ..text.frontmatter import load_mapping
from .parcel import SETTINGS, Parcel

_PLACES = ("layout", "paths")
_TOLD = 5
_AS_MADE = (MARKER_TEXT.encode(), MARKER_TEXT.rpartition(f"{FORMAT_KEY}:")[0].encode())
"""The file as `mem init` makes it, and as it did before it said the format."""


def settings_file(workspace: Workspace) -> list[tuple[str, str]]:
    """Give path and kind of the settings' file, where it says something."""
    return [(MARKER, SETTINGS)] if _said(_standing(workspace) or b"") else []


def take_settings(workspace: Workspace, parcel: Parcel, *, dry_run: bool) -> tuple[str, str]:
    """Take settings over where none were made; give what was done, and what is to be said of it."""
    if parcel.path != MARKER:
        raise ValueError(f"settings are in {MARKER}, not in {parcel.path}")
    new, standing = _said(parcel.data), _standing(workspace)
    old = _said(standing or b"")
    others = [name for name, value in new.items() if old.get(name) != value]
    if not others:
        return "unchanged", ""
    if standing not in _AS_MADE or any(name.partition(".")[0] in _PLACES for name in new):
        names = ", ".join(others[:_TOLD]) + (", …" if len(others) > _TOLD else "")
        return "left out", f"{MARKER} stays as it is; the file sets {names}: `mem config set` does it here"
    if not dry_run:
        place(workspace, MARKER, parcel.data, 0o666, None, over=files.digest(standing))
    return "created", ""


def _standing(workspace: Workspace) -> bytes | None:
    try:
        return files.read(workspace.root / MARKER)
    except MemError:
        return None


def _said(data: bytes) -> dict[str, object]:
    """Give the settings by their dotted names; of a file that does not parse, none."""
    said = dict(_flat("", load_mapping(data.decode("utf-8", "replace"))[0]))
    said.pop(FORMAT_KEY, None)  # which is the folder's own
    return said


def _flat(prefix: str, fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        elif value is not None:
            yield f"{prefix}{key}", value

"""Write, change, forget, restore and purge entries, touching only what was asked for."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from ..dataclass import dataclass
from ..errors import MemError, RefusedError, UsageError
from ..formats import text_lines
from ..formats.entry import TRUST, Entry, stated_id
from ..formats.frontmatter import document
from ..formats.ids import drawn, new_id
from ..formats.text_lines import first_line, shorten
from ..results import IF_ANY, OPTIONAL, ConflictsWith, FilePath, Id, Reason
from . import atomic_files
from .addresses import Place, hide, require_ours, show_again
from .archive import keep_folders
from .atomic_files import remove
from .entry_revision import USER, attributed, changed, checked_text, new_fields, settled, sound
from .lock import changing
from .workspace import Workspace

if TYPE_CHECKING:
    from .journal import Move, Step

TRIES = 100
_OTHERWISE = {
    "memory": ("long-term memory", "`mem write --id {0}` replaces it, `mem edit {0}` changes it"),
    "history": ("history", "`mem history add` adds to it"),
    "note": ("a day's notes", "`mem note` adds to those of today"),
}
"""What the files are that are no entries, and how they are written, by kind."""


@dataclass(frozen=True)
class EntryChange:
    """What a change did to which file."""

    id: str
    path: str
    action: str  # created, updated, unchanged, archived, restored, purged
    text: str = ""


LONGEST_NEAR = 160
"""Characters of a memory that lies near to a new one that are shown."""


@dataclass(frozen=True)
class NearEntry:
    """A memory that lies near to a new one: the writer decides whether the new one takes its place."""

    id: Id
    text: Annotated[str, "the start of what it says"]
    date: Annotated[str, "the day it was said or confirmed last"]  # YYYY-MM-DD in UTC

    @classmethod
    def of(cls, entry: Entry) -> "NearEntry":
        """Return how an entry is named to the writer of a new one."""
        return cls(entry.id, shorten(entry.body, LONGEST_NEAR), max(entry.created_at, entry.updated_at)[:10])

    def line(self, new: str) -> str:
        """Return the line that asks the writer of an entry, by its id, whether it takes the place of this one."""
        return f'near: {self.id} "{self.text}" ({self.date}) · takes its place? mem supersede {self.id} {new}'


@dataclass(frozen=True)
class Admitted:
    """What became of a memory that was to be kept."""

    action: Annotated[
        str,
        "what was done: created, updated, unchanged, merged, held or waits (in the inbox), forgotten (left out),"
        " archived, restored, purged, superseded",
    ]
    id: Id  # of the entry that says it now; where it was forgotten, of the one that was forgotten
    path: FilePath
    supersedes: Annotated[tuple[str, ...], "ids of the entries it took the place of", IF_ANY] = ()
    superseded_by: Annotated[str, "id of the entry that fills its key, being newer", IF_ANY] = ""
    conflicts_with: Annotated[ConflictsWith, IF_ANY] = ()
    reason: Annotated[Reason, IF_ANY] = ""
    strength: Annotated[int | None, "how often it was confirmed", OPTIONAL] = None  # where it was merged
    near: Annotated[
        tuple[NearEntry, ...],
        "entries that lie near to a new one, at most three, the nearest first: whoever writes knows whether it takes"
        " the place of one",
        IF_ANY,
    ] = ()

    @property
    def is_let_in(self) -> bool:
        """Return whether a memory says it now: it was not left out as forgotten, and does not wait in the inbox."""
        return self.action not in ("forgotten", "held", "waits")


def write(
    workspace: Workspace,
    fields: Mapping[str, Any],
    body: str,
    noise: bytes,
    stated_path: str = "",
    *,
    by: str = "",
) -> EntryChange:
    """Create an entry of the fields told and a body; `noise` is the random part of its id.

    Takes no lock: the file system refuses a name that exists, and another id is drawn. What stands at a path of one's
    own is changed as by `update`. `by` is the source of an entry that is told none; empty: what the settings say.
    """
    draft = drafted(workspace, {"source": by, **fields}, body)
    chosen = _chosen_path(workspace, stated_path) if stated_path else ""
    for attempt in range(TRIES):
        entry = draft if draft.id else replace(draft, id=new_id("mem", workspace.now, drawn(noise, attempt)))
        path = place_of(workspace, entry)
        if chosen:
            path = chosen + path.rpartition("/")[2] if chosen.endswith("/") else chosen
        text = document.render(new_fields(workspace.layout, entry), entry.body)
        try:
            with changing(workspace):
                atomic_files.create(workspace.path(path), text.encode("utf-8"))
        except FileExistsError:
            if path == chosen:
                return update(workspace, path, fields, body, by=by or draft.source)
            continue
        return EntryChange(entry.id, path, "created", text)
    raise RefusedError(f"no free name for {first_line(body)!r} after {TRIES} tries", "give one with --path")


def drafted(workspace: Workspace, fields: Mapping[str, Any], body: str) -> Entry:
    """Make an entry of the fields told and a body, without an id; UsageError says what is wrong with them."""
    values = {key: settled(key, value) for key, value in fields.items() if value not in (None, "", [], {}, ())}
    settings = workspace.settings
    values.setdefault("type", settings["write.type"])
    values.setdefault("source", settings["write.source"] or "observed")
    values.setdefault("created_at", workspace.stamp)
    values.setdefault("trust", TRUST[values["source"]])
    return Entry(body=sound(body), **{"id": "", "updated_at": values["created_at"]} | values)


def entry_text(
    workspace: Workspace, fields: Mapping[str, Any], body: str, noise: bytes, folder: str = ""
) -> tuple[str, str, str]:
    """Return id, path and text of a new entry that a plan is to make; `folder` is below the entries."""
    entry = replace(drafted(workspace, fields, body), id=new_id("mem", workspace.now, noise))
    path = place_of(workspace, entry)
    if folder:
        path = f"{workspace.layout.entries}/{folder}/{path.rpartition('/')[2]}".lstrip("/")
    return entry.id, path, document.render(new_fields(workspace.layout, entry), entry.body)


def update(
    workspace: Workspace,
    path: str,
    fields: Mapping[str, Any],
    body: str | None,
    expected: str | None = None,
    *,
    by: str = USER,
) -> EntryChange:
    """Change fields and, where one is given, the body of the entry in a file; the rest of the file stays.

    An empty value takes its key away. A person's own note that gets a field gets an id too: from then on mem keeps it.
    `by` is whose words the change brings, and `expected` what they change, as in
    `edit`; a weight that is told holds.
    """
    if fields and not is_managed(workspace, path):
        stated = document.parse(atomic_files.read(workspace.path(path)).decode("utf-8", "replace")).fields
        fields = {"id": new_id("mem", workspace.now, workspace.noise(path)), **fields}
        if old := stated_id(stated):  # a person's own links may name it
            aliases = stated.get("aliases") or []
            fields = {"aliases": [*(aliases if isinstance(aliases, list) else [str(aliases)]), old], **fields}
    weight = {key: value for key, value in fields.items() if key in ("source", "trust", "pinned")}
    unweighted = {key: value for key, value in fields.items() if key not in weight}

    def change(text: str) -> str:
        new_text = attributed(workspace, path, text, changed(path, text, unweighted, body), by)
        return changed(path, new_text, weight, None)

    return edit(workspace, path, change, expected)


def revised(
    workspace: Workspace,
    path: str,
    text: str,
    fields: Mapping[str, Any],
    body: str | None = None,
) -> str:
    """Return the text a plan is to put in the place of a file's, changed as `update` would.

    `updated_at` stays: a mark put on a memory does not change what it says.
    """
    require_managed(workspace, path, text)
    return changed(path, text, fields, body)


def edit(
    workspace: Workspace,
    path: str,
    change: Callable[[str], str],
    expected: str | None = None,
    *,
    keeps: bool = True,
    by: str = USER,
) -> EntryChange:
    """Change a file's text through a function, under the lock; `updated_at` follows where the file keeps it.

    The text that goes stays in the archive, unless a person edits the file: then `keeps` is false. Of what another than
    the user changes, the new words are that one's: `by` is the source they get at most.
    `expected` is the digest of the text the change was made from. Raises RefusedError for a text that does not fit it,
    a file that is another tool's or not UTF-8, and for one that would have conflict markers or broken frontmatter.
    """
    from .entry_revision import (
        keep_replaced,
        without_old_wordings,  # late: a new memory replaces nothing
    )
    from .journal import Change, apply, exclusive
    from .page_lines import with_page_lines

    require_ours(workspace.layout, path)
    target = workspace.path(path)
    with exclusive(workspace, f"mem edit {path}") as held:
        data = atomic_files.read(target)
        if expected is not None and atomic_files.digest(data) != expected:
            raise RefusedError(f"{path} changed underneath", "read it again and repeat the change")
        text = decoded(path, data)
        new = attributed(workspace, path, text, change(text), by)
        if new != text:
            new = checked_text(workspace, path, text, without_old_wordings(text, new) if keeps else new)
        identifier = stated_id(document.parse(new).fields) or path
        if new == text:
            return EntryChange(identifier, path, "unchanged", text)
        held.check()
        if keeps:
            keep_replaced(workspace, path, text, new)
        steps = with_page_lines(workspace, [Change(path, text, new)], workspace.path)
        if len(steps) > 1:
            apply(workspace, steps, held)
        else:  # one file is changed or it is not: what fails is not done later
            atomic_files.replace(target, new.encode("utf-8"), atomic_files.digest(data))
    return EntryChange(identifier, path, "updated", new)


def forget(workspace: Workspace, path: str, *, by: str = USER, reason: str = "") -> str:
    """Move an entry's file to the archive and return its path; one that lies there stays, as forgotten now.

    When, by whom and why goes into its frontmatter, where that can be changed: what says the same is known by it.
    """
    if (address := Place.of(path)).anchor:
        return hide(workspace, address)
    from .journal import apply, exclusive

    require_entry(workspace, path)
    with exclusive(workspace, "mem forget") as held:
        steps, (where,) = forgetting(workspace, [path], by=by, reason=reason)
        apply(workspace, steps, held)
    return where


def forgetting(
    workspace: Workspace, paths: Sequence[str], *, by: str, reason: str = ""
) -> tuple[list["Step"], list[str]]:
    """Return the steps that put entries, or folders of them, away as forgotten, and where they are then.

    One in the archive stays, and what its frontmatter says already of its forgetting holds. Raise as `put_away` does.
    """
    moves: list[Step] = []
    marks: list[Step] = []
    places = []
    forgetting_fields = {"forgotten_at": workspace.stamp, "forgotten_by": by, "reason": reason or None}
    for path in paths:
        new_path = path
        if not workspace.layout.is_archived(path):
            new_path = workspace.free_name(workspace.layout.archive + path)
            moves.append(_move(workspace, path, new_path))
        places.append(new_path)
        for inner in entries_below(workspace, path):
            marks += _marking(workspace, inner, new_path + inner.removeprefix(path), forgetting_fields)
    return [*moves, *marks], places


def entries_below(workspace: Workspace, path: str) -> list[str]:
    """Return the entry at a path, or those in the folder at it."""
    file = workspace.path(path)
    paths = [path, *(workspace.relative(inner) for inner in sorted(file.rglob("*.md")) if inner.is_file())]
    return [inner for inner in paths if workspace.layout.kind_of(inner) == "entry" and workspace.path(inner).is_file()]


def _move(workspace: Workspace, path: str, new_path: str) -> "Move":
    """Return the step that puts a file or folder into the archive."""
    from .journal import Move

    if workspace.path(path).is_dir():
        return Move(path, new_path, "")
    require_managed(workspace, path)
    require_one_side(workspace, path)
    return Move(path, new_path, atomic_files.digest(atomic_files.read(workspace.path(path))))


def _marking(workspace: Workspace, path: str, new_path: str, fields_told: Mapping[str, Any]) -> list["Step"]:
    """Return the step that marks an entry, which is at a place then, as forgotten; none where it is marked."""
    from .journal import Change

    try:
        text = decoded(path, atomic_files.read(workspace.path(path)))
        fields = document.parse(text).fields
        new = text if fields.get("forgotten_at") else revised(workspace, path, text, fields_told)
    except RefusedError:  # no frontmatter that can be changed: it is put away as it is
        return []
    if new == text:
        return []
    if fields_told["reason"] and "reason" in fields and not fields.get("forgotten_at"):
        raise UsageError(f"{path} has a `reason` of its own", "leave out --reason")
    return [Change(new_path, text, new)]


def unforgotten(workspace: Workspace, path: str, text: str) -> str:
    """Return an entry's text without the marks of its forgetting; a reason of its own, told before them, stays."""
    names = list(document.parse(text).fields)
    marks = dict.fromkeys(("forgotten_at", "forgotten_by"), "")
    if "reason" in names[names.index("forgotten_at") :] if "forgotten_at" in names else ():
        marks["reason"] = ""
    if not marks.keys() & set(names):
        return text
    new = revised(workspace, path, text, marks)
    return new if set(names) - marks.keys() else document.parse(new).body.removeprefix("\n")


def is_managed(workspace: Workspace, path: str, text: str | None = None) -> bool:
    """Return whether mem keeps a file, by its path or the id it states; `text` is its text where that is at hand."""
    if workspace.layout.manages(path) or not workspace.layout.is_vault:
        return workspace.layout.manages(path)
    text = atomic_files.read(workspace.path(path)).decode("utf-8", "replace") if text is None else text
    return workspace.layout.manages(path, stated_id(document.parse(text).fields))


def require_managed(workspace: Workspace, path: str, text: str | None = None) -> None:
    """Raise RefusedError for a file that another tool or a person keeps, and mem does not."""
    require_ours(workspace.layout, path)
    if not is_managed(workspace, path, text):
        raise RefusedError(
            f"{path} is a note of your own, which mem only reads",
            f"change it yourself, or let mem keep it: mem write --id '{path}' --type fact",
        )


def restore(workspace: Workspace, path: str) -> str:
    """Move an archived file back to where it was; refused where something else has its place."""
    if not workspace.layout.is_archived(path):
        raise RefusedError(f"{path} is not in the archive", "there is nothing to restore")
    if address := show_again(workspace, path):
        return address
    active_path = path.removeprefix(workspace.layout.archive)
    from .journal import Move, apply, exclusive

    with exclusive(workspace, "mem restore") as held:
        there, here = workspace.root / active_path, workspace.path(path)
        if os.path.lexists(there) and not (there.exists() and there.samefile(here)):
            raise RefusedError(f"{active_path} exists", f"move one of the two, then `mem restore {quote(path)}`")
        digest = "" if here.is_dir() else atomic_files.digest(atomic_files.read(here))
        paths = entries_below(workspace, path)
        marked = without_marks(workspace, {inner: active_path + inner.removeprefix(path) for inner in paths})
        apply(workspace, [Move(path, active_path, digest), *marked], held)
    return active_path


def without_marks(workspace: Workspace, places: Mapping[str, str]) -> list["Step"]:
    """Return the steps that take the marks of forgetting off archived files, by the places where they are then."""
    from .journal import Change

    steps: list[Step] = []
    for path, new_path in places.items():
        with suppress(MemError):  # what cannot be read or changed comes back as it is
            text = decoded(path, atomic_files.read(workspace.path(path)))
            if (new := unforgotten(workspace, path, text)) != text:
                steps.append(Change(new_path, text, new))
    return steps


def purge(workspace: Workspace, path: str) -> None:
    """Delete an entry's file for good: the one way a memory is destroyed."""
    require_entry(workspace, path)
    keep_folders(workspace, [path])
    remove(workspace.path(path), for_good=True)


def decoded(path: str, data: bytes) -> str:
    """Read a file's bytes as text; RefusedError names the line that is not UTF-8."""
    text, problem = text_lines.decoded(data)
    if problem:
        raise RefusedError(f"{path}:{problem.line}: {problem.reason}")
    return text


def place_of(workspace: Workspace, entry: Entry) -> str:
    """Return the path of a new entry, as the layout has it."""
    from .redaction import file_words, redactor

    name = file_words(entry.title, entry.body, redactor(workspace, "").values) or entry.type
    day = datetime.fromisoformat(entry.created_at).replace(tzinfo=UTC).astimezone(workspace.zone).date()
    return workspace.layout.entry_path(name, entry.id, day)


def _chosen_path(workspace: Workspace, path: str) -> str:
    """Take a path for a new entry as it stands, or below the folder of entries; one that ends in / is a folder."""
    if Path(path).is_absolute():
        try:
            path = Path(path).relative_to(workspace.root).as_posix() + "/" * path.endswith("/")
        except ValueError:
            raise RefusedError(f"{path} is outside the workspace {workspace.root}", "give a path within it") from None
    if not path.isprintable():
        raise UsageError(f"{path!r} cannot be the name of a file", "leave out newlines and control characters")
    from .redaction import require_no_secret

    require_no_secret(workspace, path, "the path")
    if not path.endswith((".md", "/")):
        raise UsageError(f"{path} is not a markdown file", "end the path with .md, or with / for a folder")
    kind = workspace.layout.kind_of(path)
    if kind in _OTHERWISE:
        what, fix = _OTHERWISE[kind]
        raise RefusedError(f"{path} is {what}, not an entry", fix.format(quote(path)))
    for candidate in (path, f"{workspace.layout.entries}/{path}".lstrip("/")):
        file = f"{candidate}new.md" if candidate.endswith("/") else candidate
        inside = workspace.relative(workspace.path(file))
        if workspace.layout.kind_of(inside) == "entry" and not workspace.layout.is_archived(inside):
            return inside.removesuffix("new.md") if candidate.endswith("/") else inside
    raise RefusedError(f"{path} is no place for an entry", f"use a path below {workspace.layout.entries}/")


def require_one_side(workspace: Workspace, path: str) -> None:
    """Refuse to put away or delete what two sides say while git waits to hear which holds."""
    line = text_lines.conflict_marker(atomic_files.read(workspace.path(path)).decode("utf-8", "replace"))
    if line is not None:
        fix = f"`mem check --fix` or `mem edit {quote(path)}` resolves it first"
        raise RefusedError(f"{path}:{line}: a git conflict marker: what the other side says would go too", fix)


def require_entry(workspace: Workspace, path: str) -> None:
    """Refuse a file that is no entry."""
    if workspace.layout.kind_of(path) != "entry":
        raise RefusedError(f"{path} is not an entry", f"change it with `mem edit {quote(path)}`")

"""Settle what git cannot merge of a workspace: by the formats of the files, and by the ids of memories that were moved.

Pure but for the blobs it asks for: the conflicts of a merge go in, the files as they should be come out. What one side
put away or deleted and the other one changed is never lost: the change goes with the memory, or into the archive. What
one side put away and the other one said again stays in use, and a person is asked. What one side deleted is gone where
the other one left its words as they were.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from shlex import quote

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.entry import stated_id
from ..formats.entry_merge import PUT_AWAY, is_another, is_bookkeeping, is_said_again, says_the_same
from ..formats.frontmatter import document
from ..formats.text_lines import conflict_marker
from ..formats.three_way import Merged, merge_texts
from ..store.access_log import DISPUTED as DISPUTED
from ..store.workspace import Workspace
from .commit import PathChange
from .merge_driver import kind_in, merge_content

Stages = Mapping[int, tuple[str, str]]
"""Mode and blob of a path that conflicts, by side: 1 is the common version, 2 ours, 3 theirs."""
Read = Callable[[Collection[str]], Mapping[str, bytes]]
"""Returns blobs by their names."""
_PLAIN = ("100644", "100755")


@dataclass(frozen=True)
class Sides:
    """What each side of a merge changed in the workspace since the common version."""

    ours: Sequence[PathChange]
    theirs: Sequence[PathChange]
    read: Read

    def of(self, stage: int) -> Sequence[PathChange]:
        """Return the changes of a side by its number."""
        return self.ours if stage == 2 else self.theirs

    def place(self, stage: int, blob: str, identifier: str) -> PathChange | None:
        """Return where a side has put a file it moved: the same bytes, or the same memory, at a new path."""
        added = [change for change in self.of(stage) if change.is_new]
        same = next((change for change in added if change.new == blob), None)
        if same or not identifier:
            return same
        return next((change for change in added if self._ids.get(change.new) == identifier), None)

    @cached_property
    def _ids(self) -> dict[str, str]:
        """Return the ids of the files that either side made, by blob."""
        names = {change.new for change in (*self.ours, *self.theirs) if change.is_new and change.path.endswith(".md")}
        return {name: identifier_of(text(data)) for name, data in self.read(names).items()}


@dataclass(frozen=True)
class Resolution:
    """Files as they should be: mode and bytes by path, None for one that goes."""

    files: Mapping[str, tuple[str, bytes] | None]
    clashes: tuple[str, ...] = ()  # paths that a person has to settle; their files have conflict markers
    notices: tuple[str, ...] = ()
    disputed: tuple[str, ...] = ()  # ids of memories that one side put away and the other one said again


def settle(
    workspace: Workspace, prefix: str, conflicts: Mapping[str, Stages], sides: Sides, taken: Callable[[str], bool]
) -> Resolution:
    """Settle the conflicts of a merge; paths are from the top of the repository, `prefix` is the workspace's.

    `taken` tells whether the merge has a file at a path.
    """
    work = _Work(workspace, prefix, sides, taken)
    blobs = {blob for stages in conflicts.values() for _, blob in stages.values()}
    work.blobs.update(sides.read(blobs))
    work.moved_twice()
    for path, stages in sorted(conflicts.items()):
        if path not in work.files:
            work.settle(path, stages)
    return work.done()


class _Work:
    def __init__(self, workspace: Workspace, prefix: str, sides: Sides, taken: Callable[[str], bool]) -> None:
        self.workspace = workspace
        self.prefix = prefix
        self.sides = sides
        self.taken = taken
        self.blobs: dict[str, bytes] = {}
        self.files: dict[str, tuple[str, bytes] | None] = {}
        self.clashes: list[str] = []
        self.notices: list[str] = []
        self.disputed: list[str] = []

    def settle(self, path: str, stages: Stages) -> None:
        """Settle one path."""
        modes = {mode for mode, _ in stages.values()}
        is_ours = path.startswith(self.prefix)
        is_text = all(b"\0" not in self.blobs.get(blob, b"\0") for _, blob in stages.values())
        if not is_ours or not modes.issubset(_PLAIN) or not is_text or not stages.keys() & {2, 3}:
            self.clashes.append(path)
        elif {2, 3} <= stages.keys():
            self.both_changed(path, stages)
        else:
            self.one_deleted(path, stages)

    def both_changed(self, path: str, stages: Stages) -> None:
        """Merge a file that both sides have, by its format."""
        ours, theirs = self.text(stages[2]), self.text(stages[3])
        base = self.text(stages[1]) if 1 in stages else self.moved_from(path, identifier_of(ours))
        replaced = [stage for stage in (2, 3) if is_another(base, self.text(stages[stage]))]
        if len(replaced) == 1:  # by a memory of its own, and the other side has changed what stood there
            self.one_deleted(path, {stage: side for stage, side in stages.items() if stage not in replaced})
            self.files[self.free(path) if self.files.get(path) else path] = self.file(stages[replaced[0]])
            return
        merged = self.merged(path, base, ours, theirs)
        if merged.clashes and (not base or replaced) and len({identifier_of(ours), identifier_of(theirs)} - {""}) > 1:
            self.files[path] = self.file(stages[2])  # two memories of one name
            self.files[self.free(path)] = self.file(stages[3])
            return
        self.put(path, self.mode(stages), merged)

    def one_deleted(self, path: str, stages: Stages) -> None:
        """Let a change go with a file that the other side moved, or into the archive where that deleted it."""
        stays, deleted = (2, 3) if 2 in stages else (3, 2)
        base = self.text(stages[1]) if 1 in stages else ""
        changed = self.text(stages[stays])
        to = self.sides.place(deleted, stages[1][1], identifier_of(base)) if 1 in stages else None
        if to is not None and to.path not in self.files:
            self.blobs.update(self.sides.read({to.new}))
            moved = text(self.blobs[to.new])
            pair = (changed, moved) if stays == 2 else (moved, changed)
            is_disputed = self.workspace.layout.is_archived(self.within(to.path)) and is_said_again(base, changed)
            stays_at, leaves = (path, to.path) if is_disputed else (to.path, path)
            self.files[leaves] = None
            merged = self.merged(path if is_disputed else to.path, base, *pair)
            if is_disputed:
                marks = dict.fromkeys(PUT_AWAY - document.parse(changed).fields.keys())
                with suppress(MemError):  # what cannot be changed stays in use as it is
                    merged = merged._replace(text=document.edit(merged.text, marks))
            self.put(stays_at, to.mode, merged)
            if is_disputed:
                self.disputed.append(identifier_of(base))
                old_path = self.within(path)
                way = f"it stays in use, `mem forget {quote(old_path)}` puts it away"
                self.notices.append(f"{old_path}: {DISPUTED}: {way}")
            elif not is_bookkeeping(base, changed):
                self.tell(path, to.path)
        elif base and says_the_same(base, changed):
            self.files[path] = None
            if is_said_again(base, changed) or not is_bookkeeping(base, changed):
                self.tell_gone(path, "said again" if is_said_again(base, changed) else "superseded")
        else:
            kind = self.workspace.layout.kind_of(self.within(path))
            is_managed = kind == "entry" and self.workspace.layout.manages(self.within(path), identifier_of(changed))
            is_managed = is_managed and not self.workspace.layout.is_archived(self.within(path))
            new_path = (
                self.free(f"{self.prefix}{self.workspace.layout.archive}{self.within(path)}") if is_managed else path
            )
            self.files[path] = None
            self.files[new_path] = self.file(stages[stays])
            self.tell(path, new_path)

    def moved_twice(self) -> None:
        """Give one place to each memory that both sides moved, to two places or with two texts.

        One that one side moved and the other deleted goes.
        """
        deleted = {change.path: change for change in self.sides.theirs if change.is_gone}
        for change in self.sides.ours:
            if not change.is_gone or change.path not in deleted:
                continue
            self.blobs.update(self.sides.read({change.old}))
            base = text(self.blobs.get(change.old, b""))
            here, there = (self.sides.place(stage, change.old, identifier_of(base)) for stage in (2, 3))
            if here is None or there is None:
                self.moved_and_deleted(change.path, base, here or there)
                continue
            if (here.path, here.new) == (there.path, there.new):
                continue
            self.blobs.update(self.sides.read({here.new, there.new}))
            archived = [to for to in (here, there) if self.workspace.layout.is_archived(self.within(to.path))]
            stays = min(archived or (here, there), key=lambda to: to.path)
            self.files.update({here.path: None, there.path: None})
            ours, theirs = (text(self.blobs[to.new]) for to in (here, there))
            self.put(stays.path, stays.mode, self.merged(stays.path, base, ours, theirs))

    def moved_and_deleted(self, path: str, base: str, to: PathChange | None) -> None:
        """Let a memory go that one side deleted, and the other one moved with the words it had."""
        layout = self.workspace.layout
        if to is None or not path.startswith(self.prefix) or layout.kind_of(self.within(path)) != "entry":
            return
        if [change.path for stage in (2, 3) for change in self.sides.of(stage)].count(to.path) > 1:
            return  # another memory stands there on the other side
        self.blobs.update(self.sides.read({to.new}))
        was, is_now = (layout.is_archived(self.within(path_then)) for path_then in (path, to.path))
        if not says_the_same(base, text(self.blobs[to.new])):
            self.tell(path if is_now else to.path, to.path)
            return
        self.files[to.path] = None
        self.tell_gone(path, "moved" if was == is_now else "put away" if is_now else "restored")

    def moved_from(self, path: str, identifier: str) -> str:
        """Return the common version of a memory that both sides moved to the same path; empty if there is none."""
        deleted = {change.path for change in self.sides.theirs if change.is_gone}
        for change in self.sides.ours:
            if identifier and change.is_gone and change.path in deleted:
                base = text(self.sides.read({change.old}).get(change.old, b""))
                if identifier_of(base) == identifier:
                    return base
        return ""

    def merged(self, path: str, base: str, ours: str, theirs: str) -> Merged:
        """Merge three texts by the format of a file, and others by lines."""
        sides = [side.encode("utf-8", "surrogateescape") for side in (base, ours, theirs)]
        content = merge_content(kind_in(self.workspace.layout, self.within(path)), sides[0], sides[1], sides[2])
        return merge_texts(base, ours, theirs) if content is None else Merged(text(content[0]), content[1])

    def put(self, path: str, mode: str, merged: Merged) -> None:
        """Take a merged text."""
        self.files[path] = (mode, merged.text.encode("utf-8", "surrogateescape"))
        if merged.clashes:
            self.clashes.append(path)

    def tell(self, path: str, new_path: str) -> None:
        """Say where the change of a file is that the other side put away."""
        path, new_path = self.within(path), self.within(new_path)
        if path == new_path:
            self.notices.append(f"{path}: deleted on one side and changed on the other: it stays")
        elif self.workspace.layout.is_archived(new_path):
            way = f"`mem restore {quote(new_path)}` brings it back"
            self.notices.append(f"{path}: put away on one side and changed on the other: {way} as it was changed")

    def tell_gone(self, path: str, how: str) -> None:
        """Say that a memory is gone, though the other side did something with it."""
        self.notices.append(f"{self.within(path)}: deleted on one side and {how} on the other: it is gone")

    def done(self) -> Resolution:
        """Return all files."""
        clashes = tuple(sorted(set(self.clashes)))
        return Resolution(self.files, clashes, tuple(self.notices), tuple(self.disputed))

    def free(self, path: str) -> str:
        """Return a path, with a number before its ending if the merge has a file there."""
        stem, dot, ending = path.rpartition(".")
        numbers = (path if number == 1 else f"{stem}-{number}{dot}{ending}" for number in range(1, 10_000))
        return next(candidate for candidate in numbers if not self.files.get(candidate) and not self.taken(candidate))

    def within(self, path: str) -> str:
        return path.removeprefix(self.prefix)

    def text(self, stage: tuple[str, str]) -> str:
        return text(self.blobs[stage[1]])

    def file(self, stage: tuple[str, str]) -> tuple[str, bytes]:
        return stage[0], self.blobs[stage[1]]

    def mode(self, stages: Stages) -> str:
        base = stages.get(1, stages[2])[0]
        return stages[3][0] if stages[2][0] == base else stages[2][0]


def text(data: bytes) -> str:
    """Return a file's text; bytes that are no UTF-8 come back as they were when it is written."""
    return data.decode("utf-8", "surrogateescape")


def is_readable(content: str) -> bool:
    """Return whether a file of a memory is whole: its frontmatter can be parsed, and no conflict is left in it."""
    return conflict_marker(content) is None and not document.parse(content).problem


def identifier_of(content: str) -> str:
    """Return the id that a file states; empty for one that states none or cannot be read."""
    try:
        return stated_id(document.parse(content).fields)
    except MemError:
        return ""


def is_of_two(sides: Mapping[int, bytes]) -> bool:
    """Return whether one side of a conflict has another memory than the base: git took that for a renamed file."""
    base, ours, theirs = (text(sides.get(side, b"")) for side in (1, 2, 3))
    return is_another(base, ours) != is_another(base, theirs)

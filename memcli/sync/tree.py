"""Merge two commits of a memory in a temporary index of git, without the work tree."""

import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from ..errors import MemError
from ..formats.entry import Entry, edit_entry, read_entry, read_id
from ..formats.frontmatter import FrontmatterError, parse
from ..formats.page import find_promoted_lines, replace_promoted_line
from ..formats.text import build_words_digest
from ..store.workspace import Workspace, parse_purged_ids
from .git import REGULAR, Blob, GitError, Repository
from .merge import build_copy_path, merge_file
from .report import Conflict


class NewEntry(NamedTuple):
    """A memory that one side added."""

    path: str
    entry: Entry
    text: str

    @property
    def rank(self) -> tuple[float, str, str]:
        """A key that sorts repeats: the most trusted one first, then the oldest."""
        return -self.entry.trust, self.entry.created_at, self.entry.id


@dataclass
class TreeMerge:
    """The merge of two commits, step by step."""

    workspace: Workspace
    repository: Repository
    base: str
    ours: str
    theirs: str
    conflicts: list[Conflict] = field(default_factory=list)

    def run(self) -> str:
        """Return the merged tree. Raises MemError if git cannot merge the folders."""
        with tempfile.TemporaryDirectory(prefix="mem-sync-") as folder:
            self.index = f"{folder}/index"
            try:
                # `git merge` would mistake a new memory for a renamed old one.
                self.repository.run(
                    *("read-tree", "-i", "-m", "--aggressive", self.base, self.ours, self.theirs),
                    index=self.index,
                )
                self.merge_changed_files()
                self.merge_repeats()
                self.remove_purged_memories()
                return self.write_tree()
            except GitError as error:
                raise MemError(
                    f"git cannot merge the two sides: {error.reason}",
                    "merge them yourself: git merge, then run mem sync again",
                ) from None

    def write_tree(self) -> str:
        return self.repository.run("write-tree", index=self.index).strip()

    def write_file(self, text: str | None, mode: str = REGULAR[0]) -> Blob | None:
        """Store the text of a file in git. None deletes the file."""
        return None if text is None else Blob(mode, self.repository.write_blob(text))

    def merge_changed_files(self) -> None:
        """Merge the files that both sides changed."""
        unmerged = self.repository.list_unmerged(self.index)
        names = {blob.object_id for sides in unmerged.values() for blob in sides.values()}
        contents = dict(zip(names, self.repository.read_blobs(list(names)), strict=True))
        files: dict[str, Blob | None] = {}
        for path, sides in unmerged.items():
            first = sides.get(2) or sides[3]
            if any(blob.mode not in REGULAR for blob in sides.values()):
                # Links and submodules are not memories.
                files[path] = first
                self.conflicts.append(Conflict(path, "both machines changed it: git has both"))
                continue
            base, ours, theirs = (
                contents[sides[stage].object_id] if stage in sides else None for stage in (1, 2, 3)
            )
            merged = merge_file(self.workspace.get_kind(path), path, base, ours, theirs)
            files[path] = self.write_file(merged.text, first.mode)
            if merged.copy:
                files[build_copy_path(path, merged.copy)] = self.write_file(merged.copy)
            if merged.conflict:
                self.conflicts.append(Conflict(path, merged.conflict))
        self.repository.change_index(self.index, files)

    def merge_repeats(self) -> None:
        """Merge memories that both machines saved in the same words."""
        ours, theirs = self.read_new_entries(self.ours), self.read_new_entries(self.theirs)
        files: dict[str, Blob | None] = {}
        for meaning in ours.keys() & theirs.keys():
            pair = ours[meaning], theirs[meaning]
            first, second = sorted(pair, key=lambda new_entry: new_entry.rank)
            if first.entry.id == second.entry.id or first.path == second.path:
                continue
            changes = {
                "strength": first.entry.strength + second.entry.strength,
                "tags": join_lists(first.entry.tags, second.entry.tags),
                "sources": join_lists(first.entry.sources, second.entry.sources),
            }
            superseded = {"superseded_by": first.entry.id, "status": None}
            with suppress(FrontmatterError):
                merged = edit_entry(first.text, changes)
                repeat = edit_entry(second.text, superseded)
                files[first.path] = self.write_file(merged)
                files[second.path] = self.write_file(repeat)
        self.repository.change_index(self.index, files)

    def read_new_entries(self, commit: str) -> dict[tuple[object, ...], NewEntry]:
        """Return the active memories that a side added, by owner, project, key and words."""
        workspace = self.workspace
        changes = self.repository.list_changes(self.base, commit)
        added = [path for path, status in changes.items() if status == "A"]
        paths = [path for path in added if workspace.get_kind(path) == "entry"]
        texts = self.repository.read_blobs([f"{commit}:{path}" for path in paths])
        entries: dict[tuple[object, ...], NewEntry] = {}
        for path, text in zip(paths, texts, strict=True):
            with suppress(FrontmatterError):
                entry, _ = read_entry(parse(text or ""), path, workspace.now)
                if entry.status == "active" and entry.body and workspace.is_managed(path):
                    words = build_words_digest(entry.body)
                    meaning = (entry.owner, entry.project, entry.key, words)
                    entries[meaning] = NewEntry(path, entry, text or "")
        return entries

    def remove_purged_memories(self) -> None:
        """Delete purged memories that the other side changed or moved, and their promoted lines."""
        tree = self.write_tree()
        path = self.workspace.purged_path
        (text,) = self.repository.read_blobs([f"{tree}:{path}"])
        purged_ids = parse_purged_ids(text or "")
        if not purged_ids:
            return
        options = ("--cached", "-l", "-z", "-F", "-f", "-")
        matches = self.repository.run(
            "grep", *options, data="\n".join(purged_ids), index=self.index, codes=(0, 1)
        )
        paths = [name for name in matches.split("\0") if name and name != path]
        contents = self.repository.read_blobs([f"{tree}:{name}" for name in paths])
        files: dict[str, Blob | None] = {}
        for name, content in zip(paths, contents, strict=True):
            if name == self.workspace.page_path:
                files[name] = self.write_file(remove_promoted_lines(content or "", purged_ids))
            elif read_id(content or "") in purged_ids:
                files[name] = None
        self.repository.change_index(self.index, files)


def join_lists(first: Iterable[str], second: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*first, *second]))


def remove_promoted_lines(page: str, purged_ids: Iterable[str]) -> str:
    promoted = {line_id for line_id, _ in find_promoted_lines(page)}
    for purged_id in promoted.intersection(purged_ids):
        page = replace_promoted_line(page, purged_id, None)
    return page

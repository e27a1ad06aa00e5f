"""Merge two commits of a memory beside the work tree, in an index of its own."""

import tempfile
from collections.abc import Iterable, Mapping
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


class Conflict(NamedTuple):
    """A file that a person should look at after a merge."""

    path: str
    reason: str


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
                # Unlike `git merge`, this takes no new memory for a renamed old one.
                self.repository.run(
                    *("read-tree", "-i", "-m", "--aggressive", self.base, self.ours, self.theirs),
                    index=self.index,
                )
                self.merge_changed_files()
                self.join_repeats()
                self.remove_purged_memories()
                return self.write_tree()
            except GitError as error:
                raise MemError(
                    f"git cannot merge the two sides: {error.reason}",
                    "merge them yourself: git merge, then run mem sync again",
                ) from None

    def write_tree(self) -> str:
        return self.repository.run("write-tree", index=self.index).strip()

    def set_files(self, texts: Mapping[str, str | None], modes: Mapping[str, str]) -> None:
        """Give files of the merged tree a text. None deletes a file."""
        self.repository.change_index(
            self.index,
            {
                path: None
                if text is None
                else Blob(modes.get(path, REGULAR[0]), self.repository.write_blob(text))
                for path, text in texts.items()
            },
        )

    def merge_changed_files(self) -> None:
        """Merge the files that both sides changed."""
        unmerged = self.repository.list_unmerged(self.index)
        names = {blob.object_id for sides in unmerged.values() for blob in sides.values()}
        contents = dict(zip(names, self.repository.read_blobs(list(names)), strict=True))
        texts: dict[str, str | None] = {}
        modes: dict[str, str] = {}
        kept: dict[str, Blob | None] = {}
        for path, sides in unmerged.items():
            if any(blob.mode not in REGULAR for blob in sides.values()):
                # Links and submodules are no memories.
                kept[path] = sides.get(2) or sides.get(3)
                self.conflicts.append(Conflict(path, "both machines changed it: git has both"))
                continue
            base, ours, theirs = (
                contents[sides[stage].object_id] if stage in sides else None for stage in (1, 2, 3)
            )
            merged = merge_file(self.workspace.get_kind(path), path, base, ours, theirs)
            texts[path] = merged.text
            modes[path] = (sides.get(2) or sides[3]).mode
            if merged.copy:
                texts[build_copy_path(path, merged.copy)] = merged.copy
            if merged.conflict:
                self.conflicts.append(Conflict(path, merged.conflict))
        self.repository.change_index(self.index, kept)
        self.set_files(texts, modes)

    def join_repeats(self) -> None:
        """Make one memory of those that both machines saved in the same words."""
        sides = [self.read_new_entries(commit) for commit in (self.ours, self.theirs)]
        texts: dict[str, str | None] = {}
        for place in sides[0].keys() & sides[1].keys():
            pairs = sorted((sides[0][place], sides[1][place]), key=lambda item: rank_entry(item[1]))
            (path, kept, kept_text), (other_path, other, other_text) = (
                (path, entry, text) for path, entry, text in pairs
            )
            if kept.id == other.id or path == other_path:
                continue
            try:
                joined = edit_entry(
                    kept_text,
                    {
                        "strength": kept.strength + other.strength,
                        "tags": tuple(dict.fromkeys([*kept.tags, *other.tags])),
                        "sources": tuple(dict.fromkeys([*kept.sources, *other.sources])),
                    },
                )
                superseded = edit_entry(other_text, {"superseded_by": kept.id, "status": None})
            except FrontmatterError:
                continue
            texts |= {path: joined, other_path: superseded}
        self.set_files(texts, {})

    def read_new_entries(self, commit: str) -> dict[tuple[object, ...], tuple[str, Entry, str]]:
        """Return the active memories that a side added, by owner, project and words."""
        changes = self.repository.list_changes(self.base, commit)
        paths = [
            path
            for path, status in changes.items()
            if status == "A"
            and self.workspace.get_kind(path) == "entry"
            and self.workspace.is_managed(path)
        ]
        texts = self.repository.read_blobs([f"{commit}:{path}" for path in paths])
        entries: dict[tuple[object, ...], tuple[str, Entry, str]] = {}
        for path, text in zip(paths, texts, strict=True):
            try:
                entry, _ = read_entry(parse(text or ""), path, self.workspace.now)
            except FrontmatterError:
                continue
            if entry.status == "active" and entry.body:
                place = (entry.owner, entry.project, entry.key, build_words_digest(entry.body))
                entries[place] = (path, entry, text or "")
        return entries

    def remove_purged_memories(self) -> None:
        """Delete purged memories that the other side changed or moved, and their promoted lines."""
        path = self.workspace.purged_path
        tree = self.write_tree()
        (text,) = self.repository.read_blobs([f"{tree}:{path}"])
        purged_ids = parse_purged_ids(text or "")
        if not purged_ids:
            return
        page_path = self.workspace.page_path
        patterns = "".join(f"{purged_id}\n" for purged_id in sorted(purged_ids))
        rows = self.repository.run(
            *("grep", "--cached", "-l", "-z", "-F", "-f", "-"),
            data=patterns,
            index=self.index,
            codes=(0, 1),
        ).split("\0")
        paths = [name for name in rows if name and name != path]
        contents = self.repository.read_blobs([f"{tree}:{name}" for name in paths])
        texts: dict[str, str | None] = {}
        for name, content in zip(paths, contents, strict=True):
            if name == page_path:
                texts[name] = remove_lines(content or "", purged_ids)
            elif read_id(content or "") in purged_ids:
                texts[name] = None
        self.set_files(texts, {})


def rank_entry(entry: Entry) -> tuple[float, str, str]:
    """Order repeats: the one that is trusted most comes first, then the oldest."""
    return -entry.trust, entry.created_at, entry.id


def remove_lines(page: str, purged_ids: Iterable[str]) -> str:
    promoted = {line_id for line_id, _ in find_promoted_lines(page)}
    for purged_id in promoted.intersection(purged_ids):
        page = replace_promoted_line(page, purged_id, None)
    return page

"""Prepare a repository, choose the files to send, and merge two commits.

The merge needs no work tree. In a project's repository, git itself merges: for each file of a
memory it calls `merge_for_git`.
"""

import shlex
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from ..context import Context
from ..errors import BusyError, MemError, NotFoundError, RejectedError, UsageError
from ..formats import (
    find_added_lines,
    find_conflict_line,
    find_promoted_lines,
    format_time,
    read_id,
    replace_promoted_line,
)
from ..index import read_ignored_patterns, scan_workspace
from ..store import (
    APP_SETTINGS,
    ARCHIVE,
    EVENTS,
    LOCAL_PATHS,
    MARK,
    METADATA,
    PURGED_IDS,
    SHARED_ONLY_PATHS,
    Replace,
    Workspace,
    commit_one,
    find_secret_problems,
    is_ignored,
    open_folder,
    parse_purged_ids,
    read_file,
    read_text,
    run_git,
    write_atomically,
)
from .git import REGULAR, Blob, GitError, Repository, encode
from .merge import build_copy_path, merge_file
from .report import Conflict

OWN_FILES = ("mem.yaml", ".gitignore", ".gitattributes")
# Names at the top of a repository that do not tell a memory from a project.
NEUTRAL_NAMES = (".", "README", "LICENSE", "COPYING")
ATTRIBUTES = ("*.md merge=mem", "purged.txt merge=mem", "mem.yaml merge=mem")
Files = dict[str, Blob | None]
"""Files of a merged tree by path. None means that the file is deleted."""
# If a driver cannot run, git counts the file as merged. The last command marks conflicts instead.
DRIVER = (
    "{program} merge-driver %O %A %B %L %P; code=$?; test $code = 0 && exit 0;"
    " test $code = {conflict} && exit 1;"
    " git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"
)
# Not 1, the exit code of a Python that cannot import mem. That must not count as a marked conflict.
CONFLICT_CODE = 3


def check_own_repository(workspace: Workspace) -> None:
    """Raise an error if the workspace has no git repository of its own."""
    if (workspace.root / ".git").exists():
        return
    if workspace.is_shared:
        raise UsageError(
            "this memory is part of a project's repository",
            f"commit it with the code: git add {workspace.root.name}; or sync your own memory:"
            " mem sync --scope user",
        )
    hint = "give it a remote: mem sync ADDRESS"
    if not workspace.is_own:
        hint += "; or commit it with the code: mem init --shared"
    raise NotFoundError("this memory is not a git repository yet", hint)


def check_contents(workspace: Workspace, repository: Repository) -> None:
    """Raise RejectedError if the repository has files of a project."""
    # `mem init --private` at the top of a project lists mem.yaml in .git/info/exclude.
    if repository.try_run("check-ignore", "--", MARK):
        raise RejectedError(
            "this memory is private: git ignores it", "to share it: mem init --shared"
        )
    # A vault has folders of any name.
    if workspace.is_vault:
        return
    included = [name.partition("/")[0] for name in workspace.settings["index.include"]]
    own_names = (*OWN_FILES, PURGED_IDS, "entries", "notes", "sessions", "inbox", *included)
    tracked = repository.run("ls-files", "-z").split("\0")
    for name in sorted({path.partition("/")[0] for path in tracked}):
        is_own = name in own_names or workspace.get_kind(name) or name.startswith(NEUTRAL_NAMES)
        if name and not is_own:
            raise RejectedError(
                f"{name} is not part of a memory, so this is a project's repository",
                "commit the memory with the project: git add mem.yaml MEMORY.md entries",
            )


def prepare_files(workspace: Workspace, repository: Repository) -> None:
    """Add the files of this machine to .gitignore, and configure merging.

    `mem init` excludes notes and history too, because a project must not get them. Here git sends
    them, unless .gitignore is committed already: then its owner may have decided otherwise.
    """
    path = f"{workspace.prefix}.gitignore"
    before = read_file(workspace, path)
    lines = (before or "").splitlines()
    is_committed = bool(repository.run("ls-files", "--", path))
    if not is_committed:
        lines = [line for line in lines if line not in SHARED_ONLY_PATHS]
    for name in LOCAL_PATHS:
        if name not in lines and name not in SHARED_ONLY_PATHS:
            lines.append(name)
    text = "".join(f"{line}\n" for line in lines)
    changes = [Replace(path, before, text), change_attributes(workspace)]
    commit_one(workspace, "sync", changes, actor="hook")


def change_attributes(workspace: Workspace) -> Replace:
    """Return the change that adds the merge driver to .gitattributes."""
    path = f"{workspace.prefix}.gitattributes"
    before = read_file(workspace, path)
    text = before or ""
    if text and not text.endswith("\n"):
        text += "\n"
    missing = [line for line in ATTRIBUTES if line not in text.splitlines()]
    return Replace(path, before, text + "".join(f"{line}\n" for line in missing))


def share_attributes(workspace: Workspace) -> None:
    """List the files that the driver merges in the shared .gitattributes."""
    change = change_attributes(workspace)
    if change.before != change.after:
        commit_one(workspace, "init", [change], actor="hook")


def install_driver(workspace: Workspace, program: Sequence[str]) -> None:
    """Add the driver to git's configuration of this clone, if possible.

    A clone brings .gitattributes along, but no commands: git would not run them.
    """
    command = DRIVER.format(program=shlex.join(program), conflict=CONFLICT_CODE)
    # `mem init` and `mem trust` also work without git. The next sync tries again.
    with suppress(NotFoundError, BusyError):
        run_git(workspace.root, "config", "merge.mem.name", "Merge memories")
        run_git(workspace.root, "config", "merge.mem.driver", command)


def list_pending(workspace: Workspace, repository: Repository) -> tuple[list[str], list[Conflict]]:
    """Return the changed paths to commit, and files not to commit."""
    paths = list_changed_files(workspace, repository)
    paths += list_changed_sessions(workspace, repository)
    # A large file is scanned for secrets once in a sync.
    known: dict[object, str] = workspace.resources.setdefault("sync", {})
    listing = scan_workspace(workspace)
    # git lists no files of a folder that it may not read.
    skipped = [
        Conflict(path, reason)
        for path, reason in listing.problems.items()
        if f"{path}/" in listing.unread or path == APP_SETTINGS
    ]
    unreadable = workspace.settings.unreadable
    skipped += [Conflict(name, reason) for name, reason in unreadable.items()]
    paths = [path for path in paths if path not in unreadable]
    pending = []
    for path, committed in repository.read_files("HEAD", paths).items():
        key = build_file_key(workspace, path, committed)
        try:
            if key not in known:
                known[key] = find_reason_to_skip(workspace, path, committed)
        except OSError as error:
            # Its rights forbid it, or the disk has a bad block.
            skipped.append(Conflict(path, f"cannot be read: {error.strerror}"))
            continue
        reason = known[key]
        if reason:
            skipped.append(Conflict(path, reason))
        else:
            pending.append(path)
    return pending, skipped


def list_changed_files(workspace: Workspace, repository: Repository) -> list[str]:
    """Return the files of the memory that differ from the last commit."""
    names = (*OWN_FILES, "MEMORY.md", "HISTORY*.md", "purged.txt", "entries", "notes")
    patterns = [f"{workspace.prefix}{name}" for name in names]
    patterns += workspace.settings["index.include"]
    if workspace.is_vault:
        patterns += ["mem.yaml", "*.md"]
    ignored = read_ignored_patterns(workspace)
    options = ("--porcelain", "-z", "--untracked-files=all", "--no-renames")
    paths = []
    # Rows: "?? entries/2026-11/tea-4kq7tz.md" and " M MEMORY.md". A rename would have two paths.
    for row in repository.run("status", *options, "--", *patterns).split("\0"):
        path = row[3:]
        is_own = path.removeprefix(workspace.prefix) in OWN_FILES
        # A file that git has already is sent, so that the next merge can overwrite it.
        if row.startswith("??") and not is_own:
            is_hidden = any(part.startswith(".") for part in path.split("/"))
            is_inner_repository = path.endswith("/")
            is_private = is_ignored(ignored, path) or workspace.settings.unreadable
            if is_hidden or is_inner_repository or is_private:
                continue
        if path:
            paths.append(path)
    return paths


def list_changed_sessions(workspace: Workspace, repository: Repository) -> list[str]:
    """Return the files of conversations that are new or changed.

    Conversations are sent only if the user wants it and nobody else commits here.
    """
    if not workspace.settings["sync.sessions"]:
        return []
    authors = set(repository.run("log", "--all", "--format=%ae").split())
    if len(authors) > 1 and not workspace.is_own:
        return []
    folder = f"{workspace.prefix}sessions"
    listed = repository.run("ls-files", "-z", "--others", "--modified", "--deleted", "--", folder)
    return [path for path in listed.split("\0") if path.endswith((EVENTS, METADATA, ARCHIVE))]


def find_reason_to_skip(workspace: Workspace, path: str, committed: str | None) -> str:
    """Return why a file must not be committed, or an empty string.

    `committed` is its text in the last commit, None for a new file.
    """
    text = read_file(workspace, path)
    if text is None:
        with suppress(FileNotFoundError, NotADirectoryError):  # it was deleted
            (workspace.root / path).lstat()
            return "not a regular file"
        return ""
    line = find_conflict_line(text)
    if line is not None:
        return f"a git conflict marker in line {line}"
    # Lines that were committed by hand are in the history already.
    problems = find_secret_problems(workspace, find_added_lines(committed or "", text))
    # A name can be made of the secret: entries/2026-11/my-token-is-ghp-….md
    if committed is None:
        problems += find_secret_problems(workspace, path)
    return problems[0].reason if problems else ""


def build_file_key(workspace: Workspace, path: str, committed: str | None) -> object:
    """Return a key that changes with the file and its last commit."""
    try:
        status = (workspace.root / path).lstat()
    except OSError:  # it was deleted
        return path, committed
    return path, committed, status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


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
                output = self.repository.run("show", "-s", "--format=%ct", self.ours, self.theirs)
                moments = [datetime.fromtimestamp(int(second), UTC) for second in output.split()]
                self.dates = [format_time(moment) for moment in moments]
                self.unify_names()
                # `git merge` would mistake a new memory for a renamed old one.
                # -i: the files of the work tree do not count. --aggressive: a file that one side
                # deleted and the other left alone is deleted.
                commits = (self.base, self.ours, self.theirs)
                self.repository.run(
                    "read-tree", "-i", "-m", "--aggressive", *commits, index=self.index
                )
                self.merge_changed_files()
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
        if text is None:
            return None
        return Blob(mode, self.repository.run("hash-object", "-w", "--stdin", data=text).strip())

    def unify_names(self) -> None:
        """Give memories that one side renamed the same path in all three trees.

        git would take such a file for a deleted memory and a new one.
        """
        ours = self.find_renamed(self.ours)
        theirs = self.find_renamed(self.theirs)
        # If both sides renamed a memory, the smaller name comes last, on each machine.
        names = dict(sorted([*ours.items(), *theirs.items()], reverse=True))
        if names:
            self.base = self.rename_files(self.base, {}, names)
            self.ours = self.rename_files(self.ours, ours, names)
            self.theirs = self.rename_files(self.theirs, theirs, names)
            # The merge compares the files of the index with ours.
            self.repository.run("read-tree", "--empty", index=self.index)

    def find_renamed(self, commit: str) -> dict[str, str]:
        """Return the new paths of the memories that a side renamed, by their old paths."""
        old_paths = index_by_id(self.read_memories(commit, "D"))
        new_paths = index_by_id(self.read_memories(commit, "A")) if old_paths else {}
        return {old_paths[key]: new_paths[key] for key in old_paths.keys() & new_paths.keys()}

    def read_memories(self, commit: str, letter: str) -> dict[str, str]:
        """Return the texts of memories that a side added (A) or deleted (D)."""
        changes = self.repository.list_changes(self.base, commit)
        paths = [path for path, status in changes.items() if status == letter]
        paths = [path for path in paths if self.workspace.get_kind(path) == "entry"]
        texts = self.repository.read_files(self.base if letter == "D" else commit, paths)
        return {path: text or "" for path, text in texts.items()}

    def rename_files(self, commit: str, own: Mapping[str, str], names: Mapping[str, str]) -> str:
        """Return the tree of a side, in which memories have new names. `own` are its own ones."""
        self.repository.run("read-tree", commit, index=self.index)
        tree = self.repository.list_files(self.index, "--stage")
        files: Files = {}
        for old_path, name in names.items():
            path = own.get(old_path, old_path)
            # If another memory has that name on this side, `mem check` reports both files.
            if path in tree and name not in tree:
                files |= {path: None, name: tree[path][0]}
        self.repository.change_index(self.index, files)
        return self.write_tree()

    def merge_changed_files(self) -> None:
        """Merge the files that both sides changed."""
        unmerged = self.repository.list_files(self.index, "--unmerged")
        names = {blob.object_id for sides in unmerged.values() for blob in sides.values()}
        contents = self.repository.read_blobs(list(names))
        files: Files = {}
        for path, sides in unmerged.items():
            # If one side deleted it and the other changed it, only one of them is there.
            first = sides.get(2) or sides[3]
            if any(blob.mode not in REGULAR for blob in sides.values()):
                # Links and submodules are not memories.
                files[path] = first
                self.conflicts.append(
                    Conflict(path, "both machines changed this file: git has both")
                )
                continue
            texts = {stage: contents[blob.object_id] for stage, blob in sides.items()}
            kind = self.workspace.get_kind(path)
            dates = {texts.get(2): self.dates[0], texts.get(3): self.dates[1]}
            merged = merge_file(kind, path, texts.get(1), texts.get(2), texts.get(3), dates=dates)
            files[path] = self.write_file(merged.text, first.mode)
            reason = merged.conflict
            if merged.copy:
                copy_path = build_copy_path(path, merged.copy)
                files[copy_path] = self.write_file(merged.copy, first.mode)
                reason = reason and f"{reason}. The other version is {copy_path}"
            if reason:
                self.conflicts.append(Conflict(path, reason))
        self.repository.change_index(self.index, files)

    def remove_purged_memories(self) -> None:
        """Delete purged memories that one side changed, and their promoted lines."""
        # The other machine may have changed a memory before it heard of the purge, and a person can
        # revert the commit of a purge.
        tree = self.write_tree()
        path = self.workspace.purged_path
        purged_ids = parse_purged_ids(self.repository.read_file(tree, path))
        if not purged_ids:
            return
        # One `git grep` instead of reading each memory. It exits with 1 if nothing matches.
        options = ("--cached", "-l", "-z", "-F", "-f", "-")
        matches = self.repository.run(
            "grep", *options, data="\n".join(purged_ids), index=self.index, codes=(0, 1)
        )
        paths = [name for name in matches.split("\0") if name and name != path]
        contents = self.repository.read_files(tree, paths)
        files: Files = {}
        for name, content in contents.items():
            if name == self.workspace.page_path:
                files[name] = self.write_file(remove_promoted_lines(content or "", purged_ids))
            elif read_id(content or "") in purged_ids:
                files[name] = None
        self.repository.change_index(self.index, files)


def index_by_id(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the paths of memories by their ids, or by their texts if they have no id."""
    # A note of a vault has no id. It is the same note if it has the same text.
    return {read_id(text) or text: path for path, text in texts.items() if text}


def remove_promoted_lines(page: str, purged_ids: Iterable[str]) -> str:
    for purged_id in set(purged_ids).intersection(find_promoted_lines(page)):
        page = replace_promoted_line(page, purged_id, None)
    return page


def merge_for_git(
    context: Context, base: Path, ours: Path, theirs: Path, size: int, path: Path
) -> str:
    """Merge three temporary files of git into the second, and return the conflict.

    `size` is the length of conflict markers. `path` is the file in the work tree.
    """
    kind, name = "entry", path.name
    for folder in path.parents:
        if (folder / MARK).is_file():
            name = path.relative_to(folder).as_posix()
            kind = open_folder(context, folder, "", None).get_kind(name)
            break
    before = read_text(base) or None  # git has an empty file if there was none
    merged = merge_file(kind, name, before, read_text(ours), read_text(theirs), size)
    text = merged.text or ""
    # This is how `git merge` passes the name of the branch.
    branches = [name for key, name in context.environment.items() if key.startswith("GITHEAD_")]
    if len(branches) == 1:
        text = text.replace(f"{'<' * size} ours\n", f"{'<' * size} HEAD\n")
        text = text.replace(f"{'>' * size} theirs\n", f"{'>' * size} {branches[0]}\n")
    write_atomically(ours, encode(text))
    return merged.conflict

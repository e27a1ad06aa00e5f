"""Exchange a workspace that is a git repository of its own with other machines.

Commit what changed here, fetch, merge beside the work tree, push, and move the work tree forward.
History is never rewritten. The push comes before the work tree moves, so that two machines which
sync at the same moment do not merge each other's merges.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from ..errors import BusyError, MemError, NotFoundError, RejectedError, UsageError
from ..formats.entry import read_entry
from ..formats.frontmatter import FrontmatterError, parse
from ..formats.merge import find_added_lines
from ..formats.text import count_noun, find_conflict_line
from ..index.index import open_index
from ..reconcile.changes import mask_text
from ..reconcile.pairs import find_conflicts
from ..reconcile.purge import purge_entries
from ..store.commit import Replace, commit, commit_one, hold_lock, read_file
from ..store.files import open_lock
from ..store.gates import find_secret_problems
from ..store.init import LOCAL_PATHS, SHARED_ONLY_PATHS
from ..store.machine import make_mem_folder
from ..store.sessions import ARCHIVE, EVENTS, METADATA
from ..store.workspace import Workspace, parse_purged_ids
from ..store.worktrees import find_repository
from .driver import change_attributes
from .git import GitError, Repository, find_lock_error, join_paths
from .tree import Conflict, TreeMerge

TRIES = 8  # how often another machine may be faster, or an editor save a file meanwhile
MOST_SENTENCES = 20
OWN_FILES = ("mem.yaml", ".gitignore", ".gitattributes")
# Names at the top of a memory's own repository that say nothing about whose it is.
NEUTRAL_NAMES = (".", "README", "LICENSE", "COPYING")


@dataclass
class Item:
    """A file that one side sent to the other."""

    action: str  # added, changed, forgotten or deleted
    kind: str
    path: str
    text: str = ""  # the sentence of a memory


@dataclass
class SyncResult:
    """What a sync did."""

    remote: str = ""  # empty: there is none
    branch: str = ""
    committed: str = ""
    sent: list[Item] = field(default_factory=list)
    received: list[Item] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    skipped: list[Conflict] = field(default_factory=list)  # files that were not committed
    messages: list[str] = field(default_factory=list)


def sync(
    workspace: Workspace, remote: str = "", *, accept_rewrite: bool = False, dry_run: bool = False
) -> SyncResult:
    """Exchange memories with a remote: its name, or by default that of the branch.

    Raises UnavailableError if the remote cannot be reached, RejectedError if it or git refuses, and
    BusyError. What was committed here before stays committed.
    """
    workspace.ensure_machine()
    check_own_repository(workspace)
    if not workspace.is_trusted:
        raise RejectedError("this workspace is not trusted", "read it, then: mem trust")
    with hold_sync_lock(workspace):
        exchange = Exchange(workspace, remote, accept_rewrite=accept_rewrite)
        try:
            exchange.preview() if dry_run else exchange.run()
        except GitError as error:
            raise find_lock_error(error) from None
        return exchange.result


def set_up_repository(workspace: Workspace, address: str) -> None:
    """Make the workspace a repository with this remote, unless it is one already."""
    if workspace.is_shared:
        check_own_repository(workspace)
    if not (workspace.root / ".git").exists():
        Repository(workspace).run("init", "--quiet", "--initial-branch=main")
    repository = Repository(workspace)
    known = repository.get_config("remote.origin.url")
    if known and known != address:
        raise RejectedError(
            f"the remote origin has another address: {known}",
            f"git remote set-url origin {address}",
        )
    if not known:
        repository.run("remote", "add", "origin", address)


def check_own_repository(workspace: Workspace) -> None:
    """Raise an error if the workspace is not a git repository of its own."""
    repository = find_repository(workspace.root)
    if repository is None or not (workspace.root / ".git").exists():
        if workspace.is_shared:
            raise UsageError(
                "this memory is part of a project's repository",
                f"commit it with the code: git add {workspace.root.name}; or sync your own memory:"
                " mem sync --scope user",
            )
        raise NotFoundError(
            "this memory is no git repository yet", "give it a remote: mem sync ADDRESS"
        )
    excluded = repository.git_folder / "info" / "exclude"
    with suppress(OSError):
        if "/mem.yaml" in excluded.read_text("utf-8", "replace").splitlines():
            raise RejectedError(
                "this memory is private: its repository ignores it", f"see {excluded}"
            )


@contextmanager
def hold_sync_lock(workspace: Workspace) -> Iterator[None]:
    make_mem_folder(workspace.root)
    try:
        lock = open_lock(workspace.root / ".mem" / "sync", 0.0)
    except BusyError:
        raise BusyError("another mem sync is running") from None
    try:
        yield
    finally:
        os.close(lock)


class Exchange:
    """One run of `mem sync`."""

    def __init__(self, workspace: Workspace, remote: str, *, accept_rewrite: bool) -> None:
        self.workspace = workspace
        self.repository = Repository(workspace)
        self.accept_rewrite = accept_rewrite
        self.result = SyncResult()
        self.repository.check_free()
        self.local_branch = self.repository.branch
        self.remote = self.choose_remote(remote)
        self.result.remote = self.remote

    def run(self) -> None:
        check_contents(self.workspace, self.repository)
        prepare_files(self.workspace, self.repository)
        for attempt in range(TRIES):
            if attempt:
                time.sleep(self.workspace.context.noise.uniform(0.05, 0.3) * attempt)
            self.result.conflicts = []
            ours = self.commit()
            if not self.remote:
                self.result.messages.append("there is no remote: mem sync ADDRESS adds one")
                return
            self.repository.fetch(self.remote)
            theirs = self.find_remote_commit()
            if theirs and self.purge_received(theirs):
                ours = self.commit()
            target = self.combine(ours, theirs)
            try:
                is_sent = target == theirs or self.repository.push(self.remote, target, self.branch)
            except MemError:
                # What the other machines remembered is useful even if ours cannot be sent.
                self.move_work_tree(ours, target)
                raise
            if is_sent and self.move_work_tree(ours, target):
                break
        else:
            raise BusyError(f"other machines were faster {TRIES} times", "run mem sync again")
        self.finish(ours, theirs, target)

    def preview(self) -> None:
        """Ask the remote, and change nothing."""
        pending, self.result.skipped = list_pending(self.workspace, self.repository)
        kinds = {"?": "added", "A": "added", "D": "deleted"}
        self.result.sent = [
            Item(kinds.get(status, "changed"), self.workspace.get_kind(path), path)
            for path, status in pending.items()
        ]
        if not self.remote:
            return
        self.repository.fetch(self.remote)
        theirs = self.find_remote_commit()
        ours = self.repository.find_commit("HEAD") or self.repository.empty_tree
        base = self.repository.find_base(ours, theirs) if theirs else self.repository.empty_tree
        self.result.sent += self.describe(base, ours)
        self.result.received = self.describe(base, theirs) if theirs else []

    def choose_remote(self, name: str) -> str:
        names = self.repository.run("remote").split()
        if name:
            if name not in names:
                raise NotFoundError(f"no remote {name!r}", f"remotes: {', '.join(names) or 'none'}")
            return name
        configured = self.repository.get_config(f"branch.{self.local_branch}.remote")
        choices = [item for item in (configured, "origin", *names[:1]) if item in names]
        return choices[0] if choices else ""

    def find_remote_commit(self) -> str:
        """Return the latest commit of the remote, empty if it has none, and choose its branch.

        Raises RejectedError if commits that this machine has seen there are no longer there.
        """
        configured = self.repository.get_config(f"branch.{self.local_branch}.merge")
        names = [configured.removeprefix("refs/heads/"), self.local_branch]
        if self.local_branch in ("main", "master"):
            names += ["main", "master"]  # git init and the host may have other opinions
        names = [name for name in names if name]
        commits = {
            name: self.repository.find_commit(f"refs/remotes/{self.remote}/{name}")
            for name in names
        }
        self.branch = next((name for name in names if commits[name]), names[0])
        self.result.branch = self.branch
        theirs = commits[self.branch]
        seen = self.repository.find_commit(self.seen_reference)
        self.rewritten = ""
        if seen and not (theirs and self.repository.is_ancestor(seen, theirs)):
            if not self.accept_rewrite:
                what = "was rewritten" if theirs else "was deleted"
                raise RejectedError(
                    f"{self.remote}/{self.branch} {what}: memories that were there are gone",
                    "to take that over and send only what is new here: mem sync --accept-rewrite",
                )
            self.rewritten = seen
        return theirs

    @property
    def seen_reference(self) -> str:
        return f"refs/mem/{self.remote}/{self.branch}"

    def commit(self) -> str:
        """Commit what changed in the workspace, and return the commit."""
        with hold_lock(self.workspace):
            # Deletes what another machine purged.
            commit(self.workspace, "sync", [])
            pending, self.result.skipped = list_pending(self.workspace, self.repository)
            paths = join_paths(pending)
            self.repository.run("update-index", "-z", "--add", "--remove", "--stdin", data=paths)
            head = self.repository.find_commit("HEAD")
            tree = self.repository.run("write-tree").strip()
            before = f"{head}^{{tree}}" if head else self.repository.empty_tree
            if head and self.repository.try_run("rev-parse", before) == tree:
                return head
            message = self.build_message(self.describe(before, tree))
            options = ("--quiet", "--no-verify", "--no-gpg-sign", "--allow-empty")
            self.repository.run("commit", *options, "--file=-", data=message)
        self.result.committed = message.partition("\n")[0]
        return self.repository.find_commit("HEAD")

    def build_message(self, items: Sequence[Item]) -> str:
        """Return a commit message that says what was remembered."""
        memories = [item for item in items if item.kind == "entry"]
        new = [item for item in memories if item.action == "added"] or memories
        if len(new) == 1 and new[0].text:
            subject = f"{ACTIONS[new[0].action]}: {new[0].text}"
        elif new:
            subject = f"{ACTIONS[new[0].action]} {count_noun(len(new), 'memory')}"
        else:
            subject = f"Update {describe_items(items)}"
        lines = [f"* {item.action}: {item.text}" for item in memories[:MOST_SENTENCES] if item.text]
        body = "\n".join(lines) if len(memories) > 1 else ""
        return f"{subject}\n\n{body}".strip() + "\n"

    def describe(self, base: str, target: str) -> list[Item]:
        """Return what differs between two commits, with the sentences of memories."""
        changes = self.repository.list_changes(base, target)
        entries = [path for path in changes if self.workspace.get_kind(path) == "entry"]
        shown = entries[: 5 * MOST_SENTENCES]
        texts = self.repository.read_blobs([f"{target}:{path}" for path in shown])
        summaries = dict(zip(shown, map(self.summarize, shown, texts), strict=True))
        items = []
        for path, status in changes.items():
            status_word, text = summaries.get(path, ("", ""))
            action = {"A": "added", "D": "deleted"}.get(status, "changed")
            if status_word in STATUS_ACTIONS:
                action = STATUS_ACTIONS[status_word]
            items.append(Item(action, self.workspace.get_kind(path), path, text))
        return sorted(items, key=lambda item: list(ACTIONS).index(item.action))

    def summarize(self, path: str, text: str | None) -> tuple[str, str]:
        """Return the status and the sentence of a memory, masked as every output."""
        if text is None:
            return "", ""
        try:
            entry, _ = read_entry(parse(text), path, self.workspace.now)
        except FrontmatterError:
            return "", ""
        return entry.status, mask_text(self.workspace, entry.summary)

    def purge_received(self, theirs: str) -> bool:
        """Delete the memories that another machine purged, with their text in every file here."""
        (text,) = self.repository.read_blobs([f"{theirs}:{self.workspace.purged_path}"])
        new_ids = parse_purged_ids(text or "") - self.workspace.read_purged_ids()
        if not new_ids:
            return False
        index = open_index(self.workspace)
        entries = [entry for entry in map(index.find_by_id, new_ids) if entry is not None]
        if entries:
            purge_entries(index, entries)
        return bool(entries)

    def combine(self, ours: str, theirs: str) -> str:
        """Return a commit that has both sides."""
        repository = self.repository
        if not theirs or (repository.is_ancestor(theirs, ours) and not self.rewritten):
            return ours
        if repository.is_ancestor(ours, theirs):
            return theirs
        base = self.rewritten or repository.find_base(ours, theirs)
        if base == repository.empty_tree and not repository.try_run(
            "cat-file", "-t", f"{theirs}:mem.yaml"
        ):
            raise RejectedError(
                f"{self.remote}/{self.branch} has other files and no memory",
                "use a repository of its own for the memory",
            )
        merge = TreeMerge(self.workspace, repository, base, ours, theirs)
        tree = merge.run()
        self.result.conflicts = merge.conflicts
        parents = ["-p", theirs] if self.rewritten else ["-p", ours, "-p", theirs]
        if self.rewritten and tree == repository.try_run("rev-parse", f"{theirs}^{{tree}}"):
            return theirs
        message = "Merge memories of another machine\n"
        return repository.run("commit-tree", tree, *parents, "-F", "-", data=message).strip()

    def move_work_tree(self, ours: str, target: str) -> bool:
        """Bring the merged files into the work tree. False: somebody edited one meanwhile."""
        if ours == target:
            return True
        command = ["merge", "--ff-only", "--quiet", "--no-autostash", "--no-overwrite-ignore"]
        if self.rewritten:
            command = ["reset", "--quiet", "--keep"]
        with hold_lock(self.workspace):
            if self.repository.find_commit("HEAD") != ours:
                return False
            try:
                self.repository.run(*command, target)
            except GitError as error:
                # git refuses to overwrite a file that somebody has edited since our commit.
                if "overwritten" not in error.output and "not uptodate" not in error.output:
                    raise
                blocked = [
                    line.strip() for line in error.output.splitlines() if line.startswith("\t")
                ]
                skipped = {item.path for item in self.result.skipped}
                if skipped.intersection(blocked) or not blocked:
                    names = ", ".join(blocked) or "a file"
                    raise RejectedError(
                        f"{names} changed on both sides, and mem sync cannot commit it here",
                        "fix or move it, then run mem sync again",
                    ) from None
                return False
        return True

    def finish(self, ours: str, theirs: str, target: str) -> None:
        """Note what both sides have now, and read what arrived through the gate of the index."""
        repository, result = self.repository, self.result
        repository.run("update-ref", self.seen_reference, target)
        repository.run("update-ref", f"refs/remotes/{self.remote}/{self.branch}", target)
        if not repository.get_config(f"branch.{self.local_branch}.remote"):
            repository.run("config", f"branch.{self.local_branch}.remote", self.remote)
            repository.run(
                "config", f"branch.{self.local_branch}.merge", f"refs/heads/{self.branch}"
            )
        index = open_index(self.workspace)
        index.refresh()
        if target != theirs:
            result.sent = self.describe(theirs or repository.empty_tree, target)
        if target != ours:
            result.received = self.describe(ours, target)
        changed = {item.path for item in result.received}
        named = {item.path for item in result.conflicts}
        for pair in find_conflicts(index):
            paths = {entry.path for entry in pair}
            if changed & paths and not named & paths:
                reason = f"“{pair[0].summary}” or “{pair[1].summary}”"
                if pair[0].key and pair[0].key == pair[1].key:
                    reason = f"two values of {pair[0].key}: {reason}"
                result.conflicts.append(Conflict("", reason))
        for path, problem in index.list_problems():
            if path in changed and problem.code != "purged":
                result.messages.append(f"{path}:{problem.line}: {problem.reason}")


ACTIONS = {
    "added": "Remember",
    "changed": "Change",
    "replaced": "Replace",
    "forgotten": "Forget",
    "deleted": "Delete",
}
STATUS_ACTIONS = {"superseded": "replaced", "forgotten": "forgotten"}


def describe_items(items: Sequence[Item]) -> str:
    """Return how many memories and other files were exchanged."""
    memories = [item for item in items if item.kind == "entry"]
    others = {item.kind or "settings" for item in items} - {"entry"}
    parts = [count_noun(len(memories), "memory")] if memories else []
    return ", ".join([*parts, *sorted(others)])


def check_contents(workspace: Workspace, repository: Repository) -> None:
    """Refuse the repository of a project, whose work would be pushed with the memory."""
    if workspace.is_vault:
        return
    included = {name.partition("/")[0] for name in workspace.settings["index.include"]}
    tracked = repository.run("ls-files", "-z").split("\0")
    for name in sorted({path.partition("/")[0] for path in tracked if path}):
        is_own = name in ("entries", "notes", "sessions", "inbox", *OWN_FILES, *included)
        is_own = is_own or name == workspace.purged_path or workspace.get_kind(name) != ""
        if not is_own and not name.startswith(NEUTRAL_NAMES):
            raise RejectedError(
                f"{name} is not part of a memory, so this is a project's repository",
                "commit the memory with the project: git add mem.yaml MEMORY.md entries",
            )


def prepare_files(workspace: Workspace, repository: Repository) -> None:
    """Say in .gitignore what stays on this machine, and in .gitattributes how git merges.

    `mem init` also excludes notes and history, which a project must not get. Here they are carried,
    unless .gitignore is committed already: then it says what its owner wants.
    """
    path = f"{workspace.prefix}.gitignore"
    before = read_file(workspace, path)
    lines = (before or "").splitlines()
    carried = () if repository.run("ls-files", "--", path) else SHARED_ONLY_PATHS
    after = [line for line in lines if line not in carried]
    after += [name for name in LOCAL_PATHS if name not in (*lines, *SHARED_ONLY_PATHS)]
    changes = [
        Replace(path, before, "".join(f"{line}\n" for line in after)),
        change_attributes(workspace),
    ]
    changes = [change for change in changes if change.before != change.after]
    if changes:
        commit_one(workspace, "sync", changes, actor="hook")


def list_pending(
    workspace: Workspace, repository: Repository
) -> tuple[dict[str, str], list[Conflict]]:
    """Return the paths to commit with git's status, and the files that must not be committed."""
    names = (*OWN_FILES, "MEMORY.md", "HISTORY*.md", "purged.txt", "entries", "notes")
    patterns = [f"{workspace.prefix}{name}" for name in names]
    patterns += workspace.settings["index.include"]
    patterns += ["mem.yaml", "*.md"] if workspace.is_vault else []
    status = repository.run(
        *("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *patterns)
    )
    pending = {}
    for row in filter(None, status.split("\0")):
        path = row[3:]
        hidden = [part for part in path.split("/") if part.startswith(".")]
        # A folder is a repository inside of the memory.
        if not path.endswith("/") and (
            not hidden or path.removeprefix(workspace.prefix) in OWN_FILES
        ):
            pending[path] = row[:2].strip()[-1]
    pending |= dict.fromkeys(list_pending_sessions(workspace, repository), "?")
    skipped = []
    heads = repository.read_blobs([f"HEAD:{path}" for path in pending])
    for path, head in zip(list(pending), heads, strict=True):
        reason = find_reason_to_skip(workspace, path, head)
        if reason:
            skipped.append(Conflict(path, reason))
            if pending.pop(path) != "?":
                repository.run("reset", "--quiet", "--", path)
    return pending, skipped


def list_pending_sessions(workspace: Workspace, repository: Repository) -> list[str]:
    """Return the files of conversations that git does not have as they are.

    Conversations are carried only if the user wants it and nobody else commits here.
    """
    if not workspace.settings["sync.sessions"]:
        return []
    if (
        not workspace.is_own
        and len(set(repository.run("log", "--all", "--format=%ae").split())) > 1
    ):
        return []
    folder = f"{workspace.prefix}sessions"
    listed = repository.run("ls-files", "-z", "--others", "--modified", "--deleted", "--", folder)
    files = (EVENTS, METADATA, ARCHIVE)
    return [path for path in listed.split("\0") if path.count("/") >= 2 and path.endswith(files)]


def find_reason_to_skip(workspace: Workspace, path: str, head: str | None) -> str:
    """Return why a file must not be committed, or an empty string."""
    target = workspace.root / path
    if target.is_symlink() or (target.exists() and not target.is_file()):
        return "not a regular file"
    text = read_file(workspace, path)
    if text is None:
        return ""
    line = find_conflict_line(text)
    if line is not None:
        return f"a git conflict marker in line {line}"
    problems = find_secret_problems(workspace, find_added_lines(head or "", text))
    problems += find_secret_problems(workspace, path) if head is None else []
    return problems[0].reason if problems else ""

"""Exchange a workspace that is a git repository of its own with other machines.

Commit what changed here, fetch, merge outside of the work tree, push, and move the work tree.
History is never rewritten. The push comes before the work tree moves, so that two machines which
sync at the same moment do not merge each other's merges.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory

from ..errors import BusyError, MemError, NotFoundError, RejectedError
from ..formats.entry import read_entry
from ..formats.frontmatter import FrontmatterError, parse
from ..formats.text import count_noun
from ..index.index import Index, open_index
from ..reconcile.changes import mask_text
from ..reconcile.pairs import find_conflicts
from ..reconcile.purge import purge_entries
from ..store.commit import commit, hold_lock, read_file
from ..store.files import open_lock
from ..store.machine import make_mem_folder
from ..store.workspace import Workspace, parse_purged_ids
from .files import check_contents, check_own_repository, list_pending, prepare_files
from .git import PASSWORD, GitError, Repository, explain_local_error
from .tree import Conflict, TreeMerge

TRIES = 8  # another machine may push first, or an editor may save a file during a sync
MOST_SENTENCES = 20
MOVING = "refs/mem/moving"  # the commit whose files git is writing into the work tree


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
    """Exchange memories with a remote, by default that of the branch.

    Raises UnavailableError if the remote cannot be reached, RejectedError if the remote or git
    refuses, and BusyError. After an error, the changes of this machine stay committed.
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
            raise explain_local_error(error) from None
        return exchange.result


def set_up_repository(workspace: Workspace, address: str) -> None:
    """Make the workspace a repository with this remote, unless it is one already."""
    if workspace.is_shared:
        check_own_repository(workspace)
    repository = Repository(workspace)
    try:
        if not (workspace.root / ".git").exists():
            repository.run("init", "--quiet", "--initial-branch=main")
        known = repository.get_config("remote.origin.url")
        if not known:
            repository.run("remote", "add", "origin", address)
        elif known != address:
            raise RejectedError(
                f"the remote origin has another address: {PASSWORD.sub('', known)}",
                "git remote set-url origin ADDRESS",
            )
    except GitError as error:
        raise explain_local_error(error) from None


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
        self.rewritten = ""  # our last commit from the remote, if the remote no longer has it
        self.blocked = ""  # files that git did not want to overwrite
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
                # The memories of other machines are useful even if ours cannot be sent.
                self.move_work_tree(ours, target)
                raise
            if is_sent and self.move_work_tree(ours, target):
                break
        else:
            reason = f"other machines were faster {TRIES} times"
            if self.blocked:
                reason = f"{self.blocked} changed on both sides and cannot be committed here"
            raise BusyError(reason, "run mem sync again")
        self.finish(ours, theirs, target)

    def preview(self) -> None:
        """Fetch, and report what a sync would send and receive."""
        repository, result = self.repository, self.result
        pending, result.skipped = list_pending(self.workspace, repository)
        result.sent = [Item("changed", self.workspace.get_kind(path), path) for path in pending]
        if self.remote:
            repository.fetch(self.remote)
            theirs = self.find_remote_commit() or repository.empty_tree
            ours = repository.find_commit("HEAD") or repository.empty_tree
            base = repository.find_base(ours, theirs)
            result.sent += self.describe(base, ours)
            result.received = self.describe(base, theirs)

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
            names += ["main", "master"]  # git and the host may use different defaults
        names = [name for name in names if name]
        commits = {
            name: self.repository.find_commit(f"refs/remotes/{self.remote}/{name}")
            for name in names
        }
        self.branch = next((name for name in names if commits[name]), names[0])
        self.result.branch = self.branch
        theirs = commits[self.branch]
        seen = self.repository.find_commit(self.seen_reference)
        is_complete = not seen or bool(theirs and self.repository.is_ancestor(seen, theirs))
        if not (is_complete or self.accept_rewrite):
            action = "was rewritten" if theirs else "was deleted"
            raise RejectedError(
                f"{self.remote}/{self.branch} {action}: memories that were there are missing",
                "to accept that and send only new memories: mem sync --accept-rewrite",
            )
        self.rewritten = "" if is_complete else seen
        return theirs

    @property
    def seen_reference(self) -> str:
        return f"refs/mem/{self.remote}/{self.branch}"

    def commit(self) -> str:
        """Commit what changed in the workspace, and return the commit."""
        with hold_lock(self.workspace):
            # Deletes what another machine purged.
            commit(self.workspace, "sync", [])
            self.restore_cut_files()
            pending, self.result.skipped = list_pending(self.workspace, self.repository)
            paths = "".join(f"{path}\0" for path in pending)
            head = self.repository.find_commit("HEAD")
            update = ("update-index", "-z", "--add", "--remove", "--stdin")
            # Not in git's own index, which may have other files that somebody staged.
            with TemporaryDirectory(prefix="mem-sync-") as folder:
                index = f"{folder}/index"
                if head:
                    self.repository.run("read-tree", head, index=index)
                self.repository.run(*update, data=paths, index=index)
                tree = self.repository.run("write-tree", index=index).strip()
            before = f"{head}^{{tree}}" if head else self.repository.empty_tree
            if head and self.repository.try_run("rev-parse", before) == tree:
                return head
            message = self.build_message(self.describe(before, tree))
            parents = ("-p", head) if head else ()
            new = self.repository.run("commit-tree", tree, *parents, "-F", "-", data=message)
            self.repository.run(*update, data=paths)
            self.repository.run("update-ref", "-m", "mem sync", "HEAD", new.strip(), head)
        self.result.committed = message.partition("\n")[0]
        return self.repository.find_commit("HEAD")

    def build_message(self, items: Sequence[Item]) -> str:
        """Return a commit message with the sentences of the changed memories."""
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
        """Return the files that differ between two commits, with the sentences of memories."""
        changes = self.repository.list_changes(base, target)
        entries = [path for path in changes if self.workspace.get_kind(path) == "entry"]
        shown = entries[: 5 * MOST_SENTENCES]
        texts = self.repository.read_blobs([f"{target}:{path}" for path in shown])
        items = []
        for path, letter in changes.items():
            action = {"A": "added", "D": "deleted"}.get(letter, "changed")
            items.append(Item(action, self.workspace.get_kind(path), path))
        items_by_path = {item.path: item for item in items}
        for path, text in zip(shown, texts, strict=True):
            # None: the memory was deleted. A damaged one has no sentence.
            with suppress(FrontmatterError):
                if text is not None:
                    entry, _ = read_entry(parse(text), path, self.workspace.now)
                    item = items_by_path[path]
                    item.action = STATUS_ACTIONS.get(entry.status, item.action)
                    item.text = mask_text(self.workspace, entry.summary)
        return sorted(items, key=lambda item: list(ACTIONS).index(item.action))

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
        """Return a commit with the changes of both sides."""
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
                f"{self.remote}/{self.branch} contains other files and no memory",
                "use a separate repository for the memory",
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
        """Write the merged files to the work tree. Return False if somebody has edited one."""
        if ours == target:
            return True
        command = ["merge", "--ff-only", "--quiet", "--no-autostash", "--no-overwrite-ignore"]
        if self.rewritten:
            command = ["reset", "--quiet", "--keep"]
        with hold_lock(self.workspace):
            if self.repository.find_commit("HEAD") != ours:
                return False
            self.repository.run("update-ref", MOVING, target)
            try:
                self.repository.run(*command, target)
            except GitError as error:
                # git refuses to overwrite a file that somebody has edited since our commit.
                if "overwritten" not in error.output and "not uptodate" not in error.output:
                    with suppress(GitError):
                        self.restore_cut_files()
                    raise
                names = [line.strip() for line in error.output.splitlines() if line[:1] == "\t"]
                self.blocked = ", ".join(names) or "a file"
                self.repository.run("update-ref", "-d", MOVING)
                return False
            self.repository.run("update-ref", "-d", MOVING)
        return True

    def restore_cut_files(self) -> None:
        """Restore files that git could not write completely: it was killed, or the disk was full.

        git does not write files atomically. In a truncated history, the missing records would look
        as if somebody had deleted them.
        """
        repository = self.repository
        target = repository.find_commit(MOVING)
        if not target:
            return
        changes = repository.list_changes("HEAD", target)
        texts = repository.read_blobs([f"{target}:{path}" for path in changes])
        new, changed = [], []
        for (path, status), text in zip(changes.items(), texts, strict=True):
            disk = read_file(self.workspace, path)
            if disk == text or not (text or "").startswith(disk or ""):
                continue
            if status == "M":
                changed.append(path)
            elif status == "A" and disk is not None:
                new.append(path)
        if new:
            repository.run("--literal-pathspecs", "clean", "-q", "-f", "-x", "--", *new)
        if changed:
            options = ("--pathspec-from-file=-", "--pathspec-file-nul")
            paths = "".join(f"{path}\0" for path in changed)
            repository.run("--literal-pathspecs", "checkout", "-q", "HEAD", *options, data=paths)
        repository.run("update-ref", "-d", MOVING)

    def finish(self, ours: str, theirs: str, target: str) -> None:
        """Remember the common commit, index the received files, and report what changed."""
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
        received_paths = {item.path for item in result.received}
        result.conflicts += self.find_new_conflicts(index, received_paths)
        for path, problem in index.list_problems():
            if path in received_paths and problem.code != "purged":
                result.messages.append(f"{path}:{problem.line}: {problem.reason}")

    def find_new_conflicts(self, index: Index, received_paths: set[str]) -> list[Conflict]:
        """Return the received memories that contradict another one, except reported ones."""
        reported_paths = {conflict.path for conflict in self.result.conflicts}
        conflicts = []
        for first, second in find_conflicts(index):
            paths = {first.path, second.path}
            if received_paths & paths and not reported_paths & paths:
                reason = f"“{first.summary}” or “{second.summary}”"
                if first.key and first.key == second.key:
                    reason = f"two values of {first.key}: {reason}"
                conflicts.append(Conflict("", reason))
        return conflicts


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

"""Exchange a workspace that is a git repository of its own with other machines.

Fetch, commit what changed here, merge outside of the work tree, push, and move the work tree.
History is never rewritten. The push comes before the work tree moves, so that two machines
which sync at the same moment do not merge each other's merges.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shlex import quote
from tempfile import TemporaryDirectory
from unicodedata import normalize

from ..errors import BusyError, MemError, NotFoundError, RejectedError
from ..formats import get_content
from ..index import Index, open_index
from ..reconcile import edit_file, find_circles, find_repeats, merge_repeats, purge_entries
from ..store import (
    LAYOUT,
    MARK,
    ChangeGroup,
    Workspace,
    commit,
    hold_lock,
    make_mem_folder,
    open_lock,
    parse_purged_ids,
    read_file,
)
from .files import TreeMerge, check_contents, check_own_repository, list_pending, prepare_files
from .git import PASSWORD, GitError, Repository, explain_local_error
from .report import Conflict, Item, SyncResult, build_message, find_new_conflicts, list_items

TRIES = 8  # another machine may push first, or an editor may save a file during a sync
MOVING = "refs/mem/moving"  # the commit whose files git is writing into the work tree
UPDATE_INDEX = ("update-index", "-z", "--add", "--remove")


def sync(
    workspace: Workspace,
    remote: str = "",
    *,
    new_address: str = "",
    accept_rewrite: bool = False,
    dry_run: bool = False,
) -> SyncResult:
    """Exchange memories with a remote, by default that of the branch.

    `new_address` is that of `origin`, which becomes a remote if the exchange succeeds. Raises
    UnavailableError if the remote cannot be reached, RejectedError if the remote or git refuses,
    and BusyError. After an error, the changes of this machine stay committed.
    """
    workspace.ensure_machine()
    check_own_repository(workspace)
    if not workspace.is_trusted:
        raise RejectedError("this workspace is not trusted", "read it, then: mem trust")
    repository = Repository(workspace, new_address)
    with hold_sync_lock(workspace):
        try:
            exchange = Exchange(workspace, repository, remote, accept_rewrite=accept_rewrite)
            exchange.preview() if dry_run else exchange.run()
        except GitError as error:
            raise explain_local_error(repository, error) from None
        return exchange.result


def set_up_repository(workspace: Workspace, address: str) -> str:
    """Make the workspace a git repository, and return the address if origin is not configured."""
    if workspace.is_shared:
        check_own_repository(workspace)
    repository = Repository(workspace)
    try:
        # Also if a git that was killed left half a repository.
        if not repository.try_run("rev-parse", "--git-dir"):
            repository.run("init", "--quiet", "--initial-branch=main")
        known = repository.get_config("remote.origin.url")
    except GitError as error:
        raise explain_local_error(repository, error) from None
    if known and known != address:
        raise RejectedError(
            f"the remote origin has another address: {PASSWORD.sub('', known)}",
            "git remote set-url origin ADDRESS",
        )
    return "" if known else address


@contextmanager
def hold_sync_lock(workspace: Workspace) -> Iterator[None]:
    # The lock of the workspace is too short for this: other commands may write during a fetch.
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

    def __init__(
        self, workspace: Workspace, repository: Repository, remote: str, *, accept_rewrite: bool
    ) -> None:
        self.workspace = workspace
        self.repository = repository
        self.accept_rewrite = accept_rewrite
        self.rewritten = ""  # our last commit from the remote, if the remote no longer has it
        self.problem = f"other machines pushed first, {TRIES} times"
        self.uncommitted: set[str] = set()  # files that changed on both sides
        self.result = SyncResult()
        repository.check_free()
        self.local_branch = repository.branch
        self.branch = ""  # of the remote
        self.remote = self.result.remote = self.choose_remote(remote)

    def run(self) -> None:
        check_contents(self.workspace, self.repository)
        # The lock first restores the files that a killed sync was changing.
        with hold_lock(self.workspace):
            restore_half_written_files(self.workspace, self.repository)
            prepare_files(self.workspace, self.repository)
        for attempt in range(TRIES):
            if attempt:
                # A random pause, so that two machines do not meet again in each attempt.
                time.sleep(self.workspace.context.noise.uniform(0.05, 0.3) * attempt)
            if not self.remote:
                self.commit()
                self.result.messages.append("there is no remote: mem sync ADDRESS adds one")
                return
            self.repository.fetch(self.remote)
            theirs = self.find_remote_commit()
            # Before the commit, which would have the purged text in our notes and history. So
            # nothing is committed while the remote is away.
            if theirs:
                self.purge_received(theirs)
            ours = self.commit()
            target = self.combine(ours, theirs)
            self.check_names(target)
            try:
                # Nothing is sent if this machine only lacked what the remote has.
                is_sent = target == theirs or self.repository.push(self.remote, target, self.branch)
            except MemError:
                # The memories of other machines are useful even if ours cannot be sent.
                self.move_work_tree(ours, target)
                raise
            if is_sent and self.move_work_tree(ours, target):
                self.finish(ours, theirs, target)
                return
            if not is_sent:
                self.result.conflicts = []  # the next try merges again
        raise BusyError(self.problem, "run mem sync again")

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
            result.sent += list_items(self.workspace, repository, base, ours)
            result.received = list_items(self.workspace, repository, base, theirs)

    def choose_remote(self, name: str) -> str:
        """Return the name of the remote to use, empty if there is none."""
        names = self.repository.run("remote").split()
        if not name:
            configured = self.repository.get_config(f"branch.{self.local_branch}.remote")
            choices = [choice for choice in (configured, "origin", *names) if choice in names]
            return choices[0] if choices else ""
        if name not in names:
            raise NotFoundError(f"no remote {name!r}", f"remotes: {', '.join(names) or 'none'}")
        return name

    def find_remote_commit(self) -> str:
        """Choose the branch of the remote and return its latest commit, if any."""
        repository = self.repository
        configured = repository.get_config(f"branch.{self.local_branch}.merge")
        names = [configured.removeprefix("refs/heads/") or self.local_branch, self.local_branch]
        if self.local_branch in ("main", "master"):
            names += ["main", "master"]  # git and the host may use different defaults
        prefix = f"refs/remotes/{self.remote}"
        commits = {name: repository.find_commit(f"{prefix}/{name}") for name in names}
        self.branch = next((name for name in names if commits[name]), names[0])
        self.result.branch = self.branch
        self.check_history(commits[self.branch])
        return commits[self.branch]

    def check_history(self, theirs: str) -> None:
        """Raise RejectedError if the remote has lost commits that this machine has seen there."""
        self.rewritten = ""
        seen = self.repository.find_commit(self.seen_reference)
        if not seen or (theirs and self.repository.is_ancestor(seen, theirs)):
            return
        # A merge would bring back what somebody removed from the history, such as a secret.
        if not self.accept_rewrite:
            action = "was rewritten" if theirs else "was deleted"
            raise RejectedError(
                f"{self.remote}/{self.branch} {action}: memories that were there are missing",
                "to accept that and send only new memories: mem sync --accept-rewrite",
            )
        self.rewritten = seen

    @property
    def seen_reference(self) -> str:
        """The last commit that this machine and the remote had in common."""
        return f"refs/mem/{self.remote}/{self.branch}"

    def commit(self) -> str:
        """Commit what changed in the workspace, and return the commit."""
        workspace, repository = self.workspace, self.repository
        # Large files are scanned before the lock is taken, and only again if they change.
        list_pending(workspace, repository)
        with hold_lock(workspace):
            # Deletes what another machine purged.
            commit(workspace, "sync", [])
            pending, self.result.skipped = list_pending(workspace, repository)
            paths = "".join(f"{path}\0" for path in pending)
            head = repository.find_commit("HEAD")
            tree = self.write_tree(head, paths)
            if head and repository.find_tree(head) == tree:
                return head
            before = head or repository.empty_tree
            message = build_message(list_items(workspace, repository, before, tree))
            new = repository.write_commit(tree, [head] if head else [], message)
            # Files that somebody else staged stay staged. `update-ref` fails if HEAD is not `head`.
            repository.run(*UPDATE_INDEX, "--stdin", data=paths)
            repository.run("update-ref", "-m", "mem sync", "HEAD", new, head)
        self.result.committed = message.partition("\n")[0]
        return new

    def read_purged_ids(self, commit: str) -> frozenset[str]:
        return parse_purged_ids(self.repository.read_file(commit, self.workspace.purged_path))

    def write_tree(self, head: str, paths: str, *options: str) -> str:
        """Return the tree of a commit with the files of the workspace at `paths`."""
        # Not in git's own index, which may have other files that somebody staged.
        with TemporaryDirectory(prefix="mem-sync-") as folder:
            index = f"{folder}/index"
            if head:
                self.repository.run("read-tree", head, index=index)
            self.repository.run(*UPDATE_INDEX, *options, "--stdin", data=paths, index=index)
            return self.repository.run("write-tree", index=index).strip()

    def purge_received(self, theirs: str) -> None:
        """Delete the text of the memories that another machine purged."""
        new_ids = self.read_purged_ids(theirs) - self.workspace.read_purged_ids()
        if not new_ids:
            return
        index = open_index(self.workspace)
        entries = list(filter(None, map(index.find_by_id, new_ids)))
        if entries:
            purge_entries(index, entries, actor="hook")

    def combine(self, ours: str, theirs: str) -> str:
        """Return a commit with the changes of both sides."""
        repository = self.repository
        if not theirs or (repository.is_ancestor(theirs, ours) and not self.rewritten):
            return ours
        base = self.rewritten or repository.find_base(ours, theirs)
        self.check_layout(base, ours, theirs)
        if repository.is_ancestor(ours, theirs):
            return theirs
        merge = TreeMerge(self.workspace, repository, base, ours, theirs)
        tree = merge.run()
        self.result.conflicts += merge.conflicts
        # The new history has all memories of this machine, so it needs no commit of ours.
        if self.rewritten and tree == repository.find_tree(theirs):
            return theirs
        parents = [theirs] if self.rewritten else [ours, theirs]
        return repository.write_commit(tree, parents, "Merge memories of another machine\n")

    def check_layout(self, base: str, ours: str, theirs: str) -> None:
        """Raise RejectedError if the remote is no memory of the same layout."""
        name = f"{self.remote}/{self.branch}"
        their_settings = self.repository.read_files(theirs, [MARK])[MARK]
        if their_settings is None:
            raise RejectedError(
                f"{name} has no {MARK}, so it contains no memory",
                f"use an empty repository for the memory, or restore {MARK} there",
            )
        # Two memories that began separately are joined. Notes of a vault would come into folders
        # that the other one does not read.
        our_layout = LAYOUT.findall(self.repository.read_file(ours, MARK))
        is_same = LAYOUT.findall(their_settings) == our_layout
        if base == self.repository.empty_tree and not is_same:
            raise RejectedError(
                f"{name} has its notes in other folders than this memory",
                "clone it instead: git clone ADDRESS; cd FOLDER; mem trust; mem sync",
            )
        if base == self.repository.empty_tree:
            self.result.messages = [
                f"this memory and {name} had no common history: now they are one"
            ]

    def check_names(self, target: str) -> None:
        """Raise RejectedError if this disk cannot have all files of a commit.

        On macOS, git would write `Tea.md` over `tea.md`, and the next sync would send that.
        """
        # git tests the disk when it creates a repository.
        if self.repository.get_config("core.ignorecase") != "true":
            return
        names: dict[str, str] = {}
        for path in self.repository.list_changes(self.repository.empty_tree, target):
            other = names.setdefault(normalize("NFC", path).casefold(), path)
            if other != path:
                raise RejectedError(
                    f"this disk ignores case, so it cannot have {other} and {path}",
                    "rename one of them on the machine that has both, and sync there first",
                )

    def move_work_tree(self, ours: str, target: str) -> bool:
        """Write the merged files, and return whether nobody had edited one."""
        if ours == target:
            return True
        # merge.autoStash would take away what a person edits. Without the last option, git
        # overwrites files that it ignores.
        command = ["merge", "--ff-only", "--quiet", "--no-autostash", "--no-overwrite-ignore"]
        if self.rewritten:
            # The new history does not follow ours. --keep refuses to overwrite an edited file.
            command = ["reset", "--quiet", "--keep"]
        with hold_lock(self.workspace):
            # A person may commit by hand while mem fetches and pushes.
            if self.repository.find_commit("HEAD") != ours:
                return False
            self.repository.run("update-ref", MOVING, target)
            try:
                self.repository.run(*command, target)
            except GitError as error:
                # git refuses to overwrite a file that somebody has edited since our commit.
                if not re.search("overwritten|not uptodate|would be removed", error.output):
                    with suppress(GitError):
                        restore_half_written_files(self.workspace, self.repository)
                    raise
                self.repository.run("update-ref", "-d", MOVING)
                # A line for each file: "<tab>entries/2026-11/tea-4kq7tz.md"
                lines = error.output.splitlines()
                self.keep_edits([line.strip() for line in lines if line[:1] == "\t"], target)
                return False
            self.repository.run("update-ref", "-d", MOVING)
        return True

    def keep_edits(self, paths: list[str], target: str) -> None:
        """Prepare the next try, which must not overwrite edited files.

        The next commit takes the notes. Raises RejectedError for files that mem must not commit.
        """
        self.problem = f"{', '.join(paths) or 'a file'} changed on both sides"
        pending, skipped = list_pending(self.workspace, self.repository)
        reasons = dict(skipped)
        kept = [path for path in paths if path not in pending]
        for path in kept:
            if path in reasons:
                raise RejectedError(
                    f"{path} has changes here that are not committed: {reasons[path]}",
                    f"commit them with git, or drop them: git checkout -- {quote(path)}",
                )
        self.uncommitted.update(kept)
        # Obsidian's settings or an attachment, which mem does not commit. If git's index has
        # the other version already, git leaves the file as it is.
        merged = self.repository.read_files(target, kept)
        changed = [path for path in kept if merged[path] is not None]
        if changed:
            self.repository.run("--literal-pathspecs", "reset", "-q", target, "--", *changed)
        # git would delete a file that our commit has, so a new commit leaves it out.
        deleted = "".join(f"{path}\0" for path in kept if merged[path] is None)
        if deleted:
            tree = self.write_tree("HEAD", deleted, "--force-remove")
            head = self.repository.find_commit("HEAD")
            new = self.repository.write_commit(tree, [head], "Leave out what was deleted\n")
            self.repository.run(*UPDATE_INDEX, "--force-remove", "--stdin", data=deleted)
            self.repository.run("update-ref", "-m", "mem sync", "HEAD", new, head)

    def finish(self, ours: str, theirs: str, target: str) -> None:
        """Remember the common commit, index the received files, and report what changed."""
        workspace, repository, result = self.workspace, self.repository, self.result
        # Not before: a wrong address would be in the way of the right one.
        if repository.new_address:
            repository.run("remote", "add", self.remote, repository.new_address)
        repository.run("update-ref", self.seen_reference, target)
        # Lets `git pull` and `git status` know the remote. An upstream that a person chose stays.
        if not repository.get_config(f"branch.{self.local_branch}.remote"):
            repository.try_run("branch", f"--set-upstream-to={self.remote}/{self.branch}")
        index = open_index(workspace)
        if target != theirs:
            result.sent = list_items(workspace, repository, theirs or repository.empty_tree, target)
        if target != ours:
            result.received = list_items(workspace, repository, ours, target)
        # The merge added a copy of a conflicting memory, which neither side had as a file.
        copies = [item for item in result.received if item.action == "added"]
        result.sent = [item for item in result.sent if item not in copies]
        groups = []
        for path, changes in find_circles(index):
            groups.append(ChangeGroup([edit_file(workspace, path, changes)]))
            result.conflicts.append(Conflict(path, "was replaced by a memory that it replaced"))
        for path in sorted(self.uncommitted):
            reason = "stays as it is here, uncommitted. The other version: git show "
            reason += quote(f"HEAD:{path}")
            if repository.read_files(target, [path])[path] is None:
                reason = "was deleted on another machine. It stays here, outside git"
            result.conflicts.append(Conflict(path, reason))
        # The other machine repairs them in the same way, so this need not be sent now.
        commit(workspace, "sync", groups, actor="hook")
        # Both memories stay if a frontmatter has YAML that cannot be edited by lines.
        repeats = find_repeats(index)
        if repeats:
            with suppress(MemError):
                merge_repeats(workspace, repeats, "sync")
            index.refresh()
        self.show_repeats(index, target)
        result.conflicts += find_new_conflicts(index, result.received, result.conflicts)
        received_paths = {item.path for item in result.received}
        for path, problem in index.list_problems():
            if path in received_paths:
                result.messages.append(f"{path}:{problem.line}: {problem.reason}")

    def show_repeats(self, index: Index, target: str) -> None:
        """Show received memories that repeat a purged text, if their user saved it again.

        The machine that saved one must have known of every purge. Otherwise, it may only be late.
        """
        workspace, repository, machine = self.workspace, self.repository, self.workspace.machine
        digests, purged_ids = machine.read_purged_digests(), workspace.read_purged_ids()
        for item in self.result.received if digests else ():
            # The text of the index is hidden.
            text = get_content(read_file(workspace, item.path) or "")
            where = "path = ? and source = 'user' and created_at >= ?"
            is_later = index.list_entries(where, (item.path, workspace.find_last_purge()))
            if is_later and digests & machine.build_digests([text]):
                options = ("log", "-1", "--diff-filter=A", "--format=%H")
                added = repository.try_run("--literal-pathspecs", *options, target, "--", item.path)
                if purged_ids <= self.read_purged_ids(added):
                    machine.remove_purged_digests([text])
                    index.refresh()


def restore_half_written_files(workspace: Workspace, repository: Repository) -> None:
    """Restore the files that git was writing, as they were before.

    git does not write files atomically, so a kill or a full disk can truncate them. In a truncated
    history, the missing records would look as if somebody had deleted them, and so would a memory
    of which git had only deleted the old name.
    """
    target = repository.find_commit(MOVING)
    if not target:
        return
    changes = repository.list_changes("HEAD", target)
    texts = repository.read_files(target, list(changes))
    new, changed = [], []
    for path, status in changes.items():
        disk = read_file(workspace, path)
        if not (texts[path] or "").startswith(disk or ""):
            continue  # edited by a person since
        if status != "A":
            changed.append(path)
        elif disk is not None:
            new.append(path)
    # A file name may contain * or [, which git would take for a pattern.
    if new:
        # git may have added them to its index already.
        repository.run("--literal-pathspecs", "reset", "-q", "--", *new)
        repository.run("--literal-pathspecs", "clean", "-q", "-f", "-x", "--", *new)
    if changed:
        repository.run("--literal-pathspecs", "checkout", "-q", "HEAD", "--", *changed)
    repository.run("update-ref", "-d", MOVING)

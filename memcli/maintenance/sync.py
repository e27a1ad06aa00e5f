"""Exchange memory with other machines through git: commit what is mem's, fetch, merge, push; in this order, and again.

History is never rewritten and nobody else's work is committed, merged over or pushed. What is not safe to decide stops
with the state as it was and the next command.
"""

import random
import time
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import replace
from shlex import quote
from typing import Annotated

from ..beliefs.forgotten import forgotten_files, forgotten_like, is_lifted, read_forgotten, refusal
from ..beliefs.plan import Plan, applied, read_page, without_lines
from ..dataclass import dataclass
from ..errors import BusyError, RefusedError
from ..formats.entry import slot_of
from ..formats.text_lines import FileProblem
from ..git import merge_driver
from ..git.commit import last_merges
from ..git.remote import fetched, in_the_way, leave_to_person, move_to, note_commit, push, require_not_taken_back
from ..git.repository import ChangedFile, Repository, branch_of, colliding, repository_of, require_free
from ..git.run import attempt, change, split, without_passwords
from ..git.tree_merge import TreeMerge, commit_merge, deleted_for_good, merge_trees
from ..index.file_reader import Reading, digest_of, read_file, try_bytes
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import ask_current, supersession_rows
from ..results import Result
from ..store import entries
from ..store.access_log import note_disputed
from ..store.archive import may_have_forgotten
from ..store.journal import exclusive, finish_first
from ..store.lock import alone
from ..store.workspace import MARKER, Workspace
from .archiving import TAKEN_OFF, forget_deleted, stale_lines
from .checks import Checked
from .invariants import circles, put_away_after
from .memory_diff import headline
from .outgoing import (
    UPKEEP,
    Commit,
    beside_memory,
    changes_between,
    commit_memory,
    conclude_merge,
    ignored,
    is_memory,
    name_left_behind,
    paths_changed,
)
from .rivals import settle_plan, successors, twins, twins_plan

_MARK = b"superseded_by"
"""Stands in an entry whose place another one took."""


def settle_forgotten(
    workspace: Workspace, paths: Collection[str], received: Collection[str]
) -> tuple[list[str], list[str]]:
    """Put away what says what was forgotten on the other side; return what is to be said of that, and of what was.

    `paths` are files in which the sides differed, `received` those that came. The user's own word, said later, stays.
    """
    if not may_have_forgotten(workspace):
        return [], []
    files = read_forgotten(workspace, [path for path in paths if workspace.layout.kind_of(path) == "entry"])
    came = {file.path: file for file in files}
    away = {path for path in came if workspace.layout.is_archived(path)}
    deleted = [came[path].entry for path in sorted(away.intersection(received))]
    named = [
        f"{entry.id} was forgotten on {entry.forgotten_at[:10]} on one machine, and is forgotten on this one too"
        for entry in deleted
        if entry.forgotten_at and not entry.version_of
    ]
    active = {path: file for path, file in came.items() if path not in away and file.entry.status == "active"}
    forgotten = forgotten_files(workspace, [file.entry.body for file in active.values()]) if active else []
    put_away = []
    for path, file in active.items():
        barring = forgotten_like(file.entry, forgotten)
        if barring and not is_lifted(file.entry, barring, is_told_now=False):
            entries.forget(workspace, path, by="observed")
            put_away.append(f"{path} is put away: {refusal(barring[0])}")
    return put_away, named


def name_hidden(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Name the memories that nobody finds now: something took their place on one side, which the other put away."""
    rows = ask(workspace, supersession_rows)
    states = {row[0]: (row[3], row[4]) for row in rows}
    places = {row[0]: row[1] for row in rows}
    lost = {name: by for name, (status, by) in states.items() if status == "superseded" and places[name] in paths}
    deleted = deleted_for_good(workspace, set(lost.values()) - states.keys() - {""})
    what = "{0}: superseded by {1} on one side, which the other deleted: `mem restore {2}` brings it back"
    notices = [what.format(places[name], by, quote(places[name])) for name, by in lost.items() if by in deleted]
    for name, (status, _) in states.items():
        last = put_away_after(name, states) if status == "superseded" else ""
        if last and {places[name], places[last]} & set(paths):
            way = f"`mem restore {quote(places[name])}` or `mem restore {quote(places[last])}` brings one back"
            notices.append(f"{places[name]}: superseded by {last} on one side, which the other put away: {way}")
    return notices


def settle_deleted(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Take the promoted lines of what is deleted for good or no longer in use off the page; forget what was deleted.

    `paths` are those that the exchange changed. Return what there is to say of each line. A line that a person changed
    stays, as it does where that is done here.
    """
    rows = ask(workspace, supersession_rows)
    ids, active = {row[0] for row in rows}, {row[0] for row in rows if row[3] == "active"}
    names = stale_lines(workspace, read_page(workspace).text, ids, active)
    applied(workspace, without_lines(workspace, names), "mem sync")
    layout, root = workspace.layout, workspace.root
    deleted = {path.removeprefix(layout.archive) for path in paths if layout.kind_of(path) == "entry"}
    deleted = {path for path in deleted if not ((root / path).exists() or (root / f"{layout.archive}{path}").exists())}
    forget_deleted(workspace, wipes=bool(deleted))
    return [TAKEN_OFF.format(workspace.layout.memory, name) for name in names]


def settle_rivals(workspace: Workspace, paths: Collection[str]) -> tuple[bool, tuple[str, ...]]:
    """Make one of each memory that two machines wrote, and flag rivals.

    These are what two machines said of one key, what took one memory's place on each, and what supersedes each other:
    that is in use again. `paths` are those that the merge changed. Return whether files changed, and what there is to
    say of the first.
    """
    changed = [reading for path in paths if (reading := _reading(workspace, path)) is not None]
    pairs = twins(workspace, changed, last_merges(workspace) if workspace.layout.is_mems else [])
    twice = twins_plan(workspace, pairs)
    applied(workspace, twice, "mem sync")
    wanted = _filling_one_key(workspace, paths)
    readings = {path: reading for path in wanted if (reading := _reading(workspace, path)) is not None}
    readings |= {path: reading for path in paths if (reading := _reading(workspace, path, _MARK)) is not None}
    successor_ids = [successors(reading.entry) for reading in readings.values() if reading.entry is not None]
    if names := [name for several in successor_ids if len(several) > 1 for name in several]:
        for path in ask(
            workspace,
            lambda index: ([row["path"] for row in index.list_entries(Filter(), "path") if row["id"] in names]),
        ):
            if path not in readings and (reading := _reading(workspace, path)) is not None:
                readings[path] = reading
    files = [(reading.path, reading.text, reading.entry) for reading in readings.values() if reading.entry is not None]
    plan = settle_plan(workspace, Checked.of(circles(files), readings.values()), (), Plan())
    applied(workspace, plan, "mem sync")
    return bool(twice + plan), twice.reasons


def _filling_one_key(workspace: Workspace, paths: Collection[str]) -> list[str]:
    """Return the active entries that fill the key of one of these paths together with it."""
    slots = defaultdict[tuple[str, str], list[str]](list)
    for row in ask_current(workspace, lambda index: index.list_entries(Filter(), "path")):
        if row.get("key"):
            slots[slot_of(row["key"], row["project"])].append(row["path"])
    return [path for slot in slots.values() if len(slot) > 1 and set(slot) & set(paths) for path in slot]


def _reading(workspace: Workspace, path: str, having: bytes = b"") -> Reading | None:
    """Return an entry that is in use; None for any other file, and for one without some bytes."""
    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_archived(path):
        return None
    got = try_bytes(workspace, path)
    if isinstance(got, str) or having not in got[0]:
        return None
    return read_file(workspace, path, "entry", *got, digest_of(got[0]))


TRIES = 12
"""How often it begins anew because another machine was faster."""
_MERGES = 20  # looked after at once
_MEETINGS = 3
"""Times that the same memories are in the way, until they are no longer taken for what an agent just wrote."""


@dataclass(frozen=True)
class Synced(Result):
    """What an exchange did, or would do, and how it ended."""

    repository: Annotated[str, "the folder of the git repository"]
    branch: Annotated[str, "the branch of the remote; where there is no remote, the one that is checked out"]
    remote: Annotated[str, "name or address of the remote, without passwords; empty where there is none"] = ""
    state: Annotated[
        str,
        "synced, local (there is no remote), held (neither merged nor pushed, the notices say why) or clash (a person"
        " is needed)",
    ] = "synced"
    committed: Annotated[str, "what was committed, in the words of memory; empty where nothing was"] = ""
    received: Annotated[str, "what came from the remote, in the words of memory; empty where nothing did"] = ""
    is_merge: Annotated[bool, "whether both sides had commits that were merged"] = False
    sent: Annotated[int, "how many commits were pushed"] = 0
    clashes: Annotated[tuple[FileProblem, ...], "conflicts that a person has to settle"] = ()
    notices: Annotated[tuple[str, ...], "what was decided and should be known"] = ()
    problems: Annotated[tuple[FileProblem, ...], "files that were not committed, and why"] = ()
    ignored: Annotated[tuple[str, ...], "memories that git is told to ignore, and that stay on this machine"] = ()
    dry_run: Annotated[bool, "whether nothing was done"] = False

    @property
    def exit_code(self) -> int:
        """Return 0; 5 if a person has to settle a conflict, 3 if memory was committed and not all went through."""
        if self.state == "clash":
            return 5
        return 3 if self.problems or self.state != "synced" else 0


def sync(workspace: Workspace, remote: str = "", *, dry_run: bool = False) -> Synced:
    """Exchange memory with a remote, by default the one of the branch; `dry_run` asks it and changes nothing.

    Raise RefusedError, UsageError, UnavailableError or BusyError where it cannot be done; what was committed before
    stays committed.
    """
    if not workspace.is_trusted:
        raise RefusedError(f"{workspace.root} is not trusted", "look through it, then run `mem trust`")
    repository = repository_of(workspace)
    with alone(workspace, "sync", "mem sync"):
        finish_first(workspace, "mem sync")
        require_free(repository)
        if not dry_run and not repository.has_driver:
            merge_driver.install(workspace.root)
        return _Exchange(workspace, repository, remote, dry_run=dry_run).run()


class _Exchange:
    """One run: knows the repository, what was committed so far, and what is to be told."""

    def __init__(self, workspace: Workspace, repository: Repository, remote: str, *, dry_run: bool) -> None:
        self.workspace = workspace
        self.repository = repository
        self.requested = remote
        self.dry_run = dry_run
        self.seconds = workspace.settings["sync.timeout"]
        self.report = Synced(str(repository.top), "", ignored=ignored(workspace, repository), dry_run=dry_run)
        self.remote = self.branch = self.local = ""
        self.disputed: tuple[str, ...] = ()  # see `Resolution`
        self.commits = set[tuple[str, str]]()  # commits of memory, each with the one before
        self.checked = set[str]()  # merges and their parents, which were looked after
        self.obstacles = Counter[tuple[str, ...]]()  # files that were in the way

    def run(self) -> Synced:
        """Commit, fetch, merge and push until both sides have the same."""
        for number in range(TRIES):
            if number:
                time.sleep(random.uniform(0.02, 0.2) * min(number, 5))  # two machines must not keep step
            commit = self._commit()
            self.report = replace(self.report, branch=commit.branch)
            self.commits |= {(commit.head, commit.before)} if commit.what else set()
            if self.report.clashes:
                return replace(self.report, state="clash")
            if not commit.head:
                return replace(self.report, state="held")
            self.remote, self.branch = self.repository.remote_of(commit.branch, self.requested)
            if not self.remote:
                return replace(self.report, state="local")
            self.local = commit.branch
            self.report = replace(self.report, remote=without_passwords(self.remote), branch=self.branch)
            theirs = fetched(self.repository, self.remote, commit.branch, self.branch, self.seconds)
            head = self._merge(commit.head, theirs)
            if head and self.report.state == "synced" and self._looked_after(commit.head, head, theirs):
                continue
            if self.report.state != "synced" or (head and self._push(commit.branch, head, theirs)):
                return self._finished(head)
        raise BusyError(f"others were faster {TRIES} times", "run `mem sync` again")

    def _commit(self) -> Commit:
        """Conclude a merge that was left to a person, and commit what is mem's."""
        if not self.dry_run:
            self.report = replace(self.report, clashes=conclude_merge(self.workspace, self.repository))
            if self.report.clashes:
                return Commit("", branch_of(self.repository))
        commit = commit_memory(self.workspace, self.repository, dry_run=self.dry_run)
        committed = ", then ".join(filter(None, (self.report.committed, commit.what)))
        self.report = replace(self.report, committed=committed, problems=commit.problems)
        return commit

    def _merge(self, ours: str, theirs: str) -> str:
        """Bring both sides together; return the commit that has both, empty if it has to be tried again."""
        ahead, behind = self._distance(ours, theirs)
        if ahead:
            branch = (self.workspace, self.repository, self.remote, self.branch)
            require_not_taken_back(*branch, ours, theirs, self._command("push"))
            if self._is_held(ours, theirs, is_behind=bool(behind)):
                return ours
        if not behind:
            return ours
        self._require_workspace(ours, theirs)
        message = f"memory: merge {self._name}"
        target, merge = theirs, None
        if ahead:
            merge = merge_trees(self.repository, self.workspace, ours, theirs)
            if merge.clashes:
                return self._left(merge, ours, theirs, message)
            target = commit_merge(self.repository, merge, ours, theirs, f"{message}\n")
            self.disputed = merge.settled.disputed
        self._require_room(target)
        if not self.dry_run:
            with exclusive(self.workspace, "mem sync"):
                if names := move_to(self.workspace, self.repository, target):
                    self.obstacles[names] += 1
                    if (
                        all(
                            (is_memory(self.workspace, self.repository, ChangedFile(name, is_tracked=True)))
                            for name in names
                        )
                        and self.obstacles[names] < _MEETINGS
                    ):
                        return ""  # an agent wrote meanwhile
                    raise in_the_way(self.repository, names)
        changes = changes_between(self.repository, self.workspace, ours, target, merge.read if merge else None)
        came = headline(changes) or UPKEEP
        received = ", then ".join(filter(None, (self.report.received, came)))
        notices = (*self.report.notices, *(merge.settled.notices if merge else ()))
        self.report = replace(
            self.report, received=received, is_merge=self.report.is_merge or bool(merge), notices=notices
        )
        return target

    def _looked_after(self, ours: str, head: str, theirs: str) -> bool:
        """Do what a merge leaves to be done; return whether files changed, which have to be committed."""
        if self.dry_run:
            return False
        sides = [side for side in (ours, theirs) if side and side != head]
        merged = self._merged(head, theirs) if sides else set()
        is_merge = not merged <= self.checked
        self.checked |= merged
        sides += sorted(merged) if is_merge else ()
        paths = dict.fromkeys(path for side in sides for path in paths_changed(self.repository, side, head))
        notices = settle_deleted(self.workspace, paths)
        note_disputed(self.workspace, self.disputed)
        put_away, named = settle_forgotten(self.workspace, paths, paths_changed(self.repository, ours, head))
        notices += put_away
        all_notices = (*self.report.notices, *notices, *named, *name_hidden(self.workspace, paths))
        self.report = replace(self.report, notices=tuple(dict.fromkeys(all_notices)))
        is_settled, more = settle_rivals(self.workspace, paths) if is_merge else (False, ())
        self.report = replace(self.report, notices=(*self.report.notices, *more))
        return bool(notices) or is_settled

    def _merged(self, head: str, theirs: str) -> set[str]:
        """Return the merges since the last exchange with their parents, also those that a person or plain git made."""
        span = (head, *([f"^{theirs}"] if theirs else []))
        listed = change(self.repository.top, "rev-list", "--merges", "--parents", f"--max-count={_MERGES}", *span)
        return set(listed.decode().split())

    def _left(self, merge: TreeMerge, ours: str, theirs: str, message: str) -> str:
        """Leave a merge in the worktree for a person to settle."""
        clashes = []
        for path in merge.clashes:
            file = merge.settled.files.get(path)
            lines = file[1].split(b"\n") if file else []
            line = next((number for number, text in enumerate(lines, 1) if text.startswith(b"<<<<<<< ")), 1)
            clashes.append(FileProblem(self.repository.relative(path), line, "both sides changed this"))
        self.report = replace(self.report, state="clash", clashes=tuple(clashes), notices=merge.settled.notices)
        if not self.dry_run:
            with exclusive(self.workspace, "mem sync"):
                leave_to_person(self.workspace, self.repository, merge, theirs, message)
        return ours

    def _push(self, local: str, head: str, theirs: str) -> bool:
        """Send what the remote lacks; return whether that was possible, and not another machine faster."""
        ahead = self._distance(head, theirs)[0]
        self.report = replace(self.report, sent=ahead)
        if not ahead or self.dry_run:
            return True
        return push(self.repository, self.remote, local, self.branch, head, self.seconds)

    def _distance(self, ours: str, theirs: str) -> tuple[int, int]:
        if ours == theirs:
            return 0, 0
        if not theirs:
            return int(change(self.repository.top, "rev-list", "--count", ours)), 0
        counts = change(self.repository.top, "rev-list", "--left-right", "--count", f"{ours}...{theirs}")
        ahead, behind = counts.split()
        return int(ahead), int(behind)

    @property
    def _name(self) -> str:
        """Return the remote's branch as messages name it."""
        return f"{self.report.remote}/{self.branch}"

    def _command(self, word: str, *options: str) -> str:
        """Return the command by which a person exchanges the branch with the remote's."""
        is_other = word == "push" and self.local != self.branch
        branch = f"{self.local}:{self.branch}" if is_other else self.branch
        return " ".join(("git", word, *options, self.report.remote, branch))

    def _is_held(self, ours: str, theirs: str, *, is_behind: bool) -> bool:
        """Return whether commits wait to be pushed that touch what is not memory, which is not for us to do."""
        others = beside_memory(self.workspace, self.repository, ours, theirs, self.commits)
        if others:
            first, *more = others
            what = f"commits that touch {first}{f' and {len(more):,} more' * bool(more)} are yours to push"
            pull = f"`{self._command('pull', '--no-rebase')}`, then " * is_behind
            notice = f"{what}: {pull}`{self._command('push')}`; memory goes with them"
            self.report = replace(self.report, state="held", notices=(*self.report.notices, notice))
        return bool(others)

    def _require_workspace(self, ours: str, theirs: str) -> None:
        """Raise RefusedError where the remote deleted the workspace, or moved it."""
        marker = f"{self.repository.prefix}{MARKER}"
        if not self._has(ours, marker) or self._has(theirs, marker):
            return
        listed = change(self.repository.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", theirs)
        markers = (name for name in split(listed) if name.rpartition("/")[2] == MARKER)
        where = self.workspace.root
        if moved := next((name for name in markers if not self._has(ours, name)), ""):
            folder = (self.repository.top / moved).parent
            trust = f"run `mem trust {quote(str(folder))}`"
            pull = self._command("pull", "--no-rebase")
            fix = f"`{pull}` moves it here too; move what it leaves in {where} after it, and {trust}"
            raise RefusedError(f"{self._name} has moved the workspace {where} to {folder}", fix)
        fix = f"look at `git log {theirs[:12]} -- {quote(marker)}`; `git merge {theirs[:12]}` deletes it here too"
        raise RefusedError(f"{self._name} has deleted the workspace {where}", fix)

    def _has(self, commit: str, path: str) -> bool:
        return not attempt(self.repository.top, "cat-file", "-e", f"{commit}:{path}").code

    def _require_room(self, target: str) -> None:
        """Raise RefusedError where this file system would take two files for one."""
        if pair := colliding(self.repository, target):
            fix = "rename one on the other machine, then run `mem sync` there and here"
            raise RefusedError(f"{pair[0]} and {pair[1]} are one file on this disk", fix)

    def _finished(self, head: str) -> Synced:
        """Note the commit both sides have, and bring the index up to date."""
        if self.dry_run:
            return self.report
        if self.report.state == "synced":
            note_commit(self.workspace, self.remote, self.branch, head)
        if self.report.received or self.report.committed:
            ask(self.workspace, Index.refresh)
            self.report = replace(self.report, notices=(*self.report.notices, *name_left_behind(self.workspace)))
        return self.report

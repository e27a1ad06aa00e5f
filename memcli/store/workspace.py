"""Workspaces: which folder a command works in, and what the files in it are."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from ..context import Context
from ..errors import NotFoundError
from ..formats import describe_day, format_time, is_id, parse_time
from .files import read_small_text
from .git import Repository, find_remote, find_repository
from .machine import Machine, build_machine, find_machine, read_record, save_record
from .settings import Settings, read_settings

if TYPE_CHECKING:
    from .writer import ChangeGroup, Replace

MARK = "mem.yaml"
NO_WORKSPACE = "no workspace in this folder or above it"
CREATE_ONE = "create one: mem init"
MAIN_WORKTREE = "of the main worktree"  # the reason for its memory
Gate = Callable[["Workspace", "ChangeGroup"], "ChangeGroup"]
PURGED_IDS = "purged.txt"
TEMPORARY_PREFIX = ".mem-tmp-"  # of files that are being written


@dataclass
class Workspace:
    """A folder of memories, and everything a function needs to work in it."""

    root: Path
    context: Context = field(repr=False)  # its environment may have passwords
    settings: Settings
    machine: Machine
    reason: str  # why this one, for `mem status`
    project: str = ""
    is_own: bool = False  # the user's own workspace, for all projects
    gates: Sequence[Gate] | None = None  # without them it can only be read
    # Finds what to delete because another machine purged it: changes, and the texts.
    find_received_purges: Callable[["Workspace"], tuple[list["Replace"], list[str]]] | None = None
    # Returns a function that hides the passages which were purged on this machine.
    build_purge_filter: Callable[["Workspace"], Callable[[str], str]] | None = None
    # Deletes what is forgotten from the team's server, and returns a message if that failed.
    withdraw_from_team: Callable[["Workspace"], str] | None = None
    resources: dict[str, Any] = field(default_factory=dict)  # open index and model

    @property
    def now(self) -> datetime:
        return self.context.now

    @property
    def stamp(self) -> str:
        """The current time as files store it."""
        return format_time(self.now)

    @property
    def zone(self) -> ZoneInfo:
        if "zone" not in self.resources:
            self.resources["zone"] = self.settings.zone
        zone: ZoneInfo = self.resources["zone"]
        return zone

    def format_local(self, stored: str, pattern: str = "%Y-%m-%d") -> str:
        """Return a stored time in the user's time zone, or an empty string for no time."""
        moment = parse_time(stored)
        return moment.astimezone(self.zone).strftime(pattern) if moment else ""

    def describe_day(self, stored: str) -> str:
        """Return a stored time as people say it: today, yesterday, 2026-11-21."""
        return describe_day(stored, self.now, self.zone)

    def is_expired(self, memory: Any) -> bool:
        """Return whether a memory (an entry or a search hit) is past its expiry date."""
        end = parse_time(memory.expires_at)
        return end is not None and end < self.now

    @property
    def is_trusted(self) -> bool:
        """Whether its text may count as the user's word. A clone is data until it is trusted."""
        return self.machine.is_trusted

    def is_foreign(self, project: str) -> bool:
        """Return whether a text of a project, in the user's own workspace, is another project's."""
        return self.is_own and project not in ("", self.project)

    @property
    def is_shared(self) -> bool:
        """Whether the workspace is part of a project's repository, and git sees it."""
        repository = find_repository(self.root)
        if repository is None or repository.main is None or repository.top.resolve() == self.root:
            return False  # not in a repository, or a repository of its own
        inner = self.root.relative_to(repository.top.resolve()).as_posix()
        # The lines that `hide_from_git` writes for a private workspace.
        excluded = read_small_text(repository.git_folder / "info" / "exclude").splitlines()
        return f"/{inner}/" not in excluded and f"/{inner}/mem.yaml" not in excluded

    @property
    def is_vault(self) -> bool:
        """Whether it is a folder of notes that mem reads where they are."""
        return str(self.settings["layout"]) in ("vault", "claude")

    @property
    def prefix(self) -> str:
        """The folder of mem's own files: `mem/` in a vault, otherwise the workspace itself."""
        return "mem/" if self.is_vault else ""

    @property
    def page_path(self) -> str:
        return f"{self.prefix}MEMORY.md"

    @property
    def notes_path(self) -> str:
        # In a vault from a stranger, its settings choose no file.
        if self.is_vault and self.is_trusted and self.settings["vault.daily_note"]:
            from .obsidian import find_daily_note

            daily_note = find_daily_note(self.root, self.now.astimezone(self.zone))
            if daily_note:
                return daily_note
        return f"{self.prefix}notes/{self.now.astimezone(self.zone):%Y-%m-%d}.md"

    @property
    def history_path(self) -> str:
        return f"{self.prefix}HISTORY-{self.now.astimezone(self.zone):%Y-%m}.md"

    @property
    def entries_folder(self) -> str:
        return f"{self.prefix}entries/"

    @property
    def purged_path(self) -> str:
        return f"{self.prefix}{PURGED_IDS}"

    def read_purged_ids(self) -> frozenset[str]:
        """Return the ids of the memories that were purged on any machine."""
        # Somebody may revert the commit of a purge with git. Here it stays purged.
        carried = self.machine.read_carried_purges()
        return carried | parse_purged_ids(read_small_text(self.root / self.purged_path))

    def find_last_purge(self) -> str:
        """Return when something was last purged on any machine; empty if never."""
        lines = read_small_text(self.root / self.purged_path).splitlines()
        return max((line.split()[-1] for line in lines if line.strip()), default="")

    def get_kind(self, path: str) -> str:
        """Return the kind of a file: entry, memory, history, note, session, document or nothing."""
        inner = path.removeprefix(self.prefix)
        if path.startswith(self.prefix):
            folder, _, name = inner.partition("/")
            if inner == "MEMORY.md":
                return "memory"
            if not name and inner.startswith("HISTORY") and inner.endswith(".md"):
                return "history"
            if folder == "notes" and name.endswith(".md"):
                return "note"
            if folder == "sessions":
                is_talk = name.endswith(("/session.jsonl", "/archive.jsonl"))
                return "session" if is_talk else ""
            # Nobody has accepted these yet.
            if folder == "inbox":
                return ""
            if folder == "entries" and name.endswith(".md"):
                return "entry"
        if path == "MEMORY.md" and str(self.settings["layout"]) == "claude":
            return "memory"
        if not path.endswith((".md", ".txt", ".canvas")):
            return ""
        if path.startswith(tuple(f"{name}/" for name in self.settings["index.include"])):
            return "document"
        if self.is_vault and not path.endswith(".txt"):
            return "document" if path.endswith(".canvas") else "entry"
        return ""

    def is_managed(self, path: str) -> bool:
        """Return whether mem wrote a file, or may rewrite it without being asked."""
        return not self.is_vault or path.startswith(self.prefix)

    def ensure_machine(self) -> None:
        """Create the key before the first write. The user's own workspace is trusted."""
        # Once per command: without a writable state folder every further try would fail too.
        if not self.machine.key and not self.resources.setdefault("tried to make a key", False):
            self.resources["tried to make a key"] = True
            self.machine = build_machine(
                self.root, self.context.state_folder, is_trusted=self.is_own
            )


def parse_purged_ids(text: str) -> frozenset[str]:
    """Return the ids in a purged.txt."""
    ids = [line.split()[0] for line in text.splitlines() if line.strip()]
    # A path is the id of a note without frontmatter. Nobody may delete it from afar.
    return frozenset(entry_id for entry_id in ids if is_id(entry_id))


def get_workspaces(context: Context) -> list[Workspace]:
    """Return the workspaces that a command reads: the project's, then the user's own.

    Raises NotFoundError if there is none.
    """
    scope = context.common.scope
    project = find_project_workspace(context) if scope != "user" else None
    workspaces = [project] if project else []
    is_explicit = bool(find_explicit_folder(context))
    # A user who names a workspace wants no other one.
    if scope in ("user", "all") or (not scope and not is_explicit):
        own = find_own_workspace(context)
        if own is not None and own.root not in [workspace.root for workspace in workspaces]:
            # The project's workspace has the setting `project`.
            if project:
                own.project = project.project
            workspaces.append(own)
    if not workspaces:
        raise NotFoundError(NO_WORKSPACE, CREATE_ONE)
    return workspaces


def get_target_workspace(context: Context) -> Workspace:
    """Return the workspace that a command writes to, created if it is the user's own."""
    if context.common.scope != "user":
        project = find_project_workspace(context)
        if project is not None:
            return project
        if context.common.scope == "project":
            raise NotFoundError(NO_WORKSPACE, CREATE_ONE)
    folder = context.data_folder
    if folder is None:
        raise NotFoundError("no workspace here, and no HOME for your own", CREATE_ONE)
    is_new = not (folder / MARK).is_file()
    if is_new:
        from .init import create_workspace

        create_workspace(context, folder)
    repository = find_repository(context.folder)
    workspace = open_folder(context, folder, "your own", repository, is_own=True)
    workspace.resources["is new"] = is_new
    return workspace


def find_project_workspace(context: Context) -> Workspace | None:
    explicit = find_explicit_folder(context)
    if explicit:
        root, reason = explicit
        for candidate in (root, root / "memory"):
            # The user named the folder, and no link in it: a clone may have brought that.
            is_link = candidate != root and candidate.is_symlink()
            if (candidate / MARK).is_file() and not is_link:
                return open_folder(context, candidate, reason, find_repository(candidate))
        raise NotFoundError(f"no workspace in {root}", f"create one: mem init {root}")
    repository = find_repository(context.folder)
    if repository is not None and repository.is_linked:
        if repository.main is None:
            # The worktree of a bare repository has no main worktree to share a memory with.
            return None
        inner = context.folder.resolve().relative_to(repository.top.resolve())
        main = find_nearest_workspace(context, repository.main / inner)
        if main is not None:
            return open_folder(context, main, MAIN_WORKTREE, repository)
    nearest = find_nearest_workspace(context, context.folder)
    if nearest is None:
        return None
    return open_folder(context, nearest, f"found from {context.folder}", repository)


def find_nearest_workspace(context: Context, folder: Path) -> Path | None:
    """Return the workspace in a folder or the nearest one above it."""
    for parent in (folder, *folder.parents):
        for candidate in (parent, parent / "memory"):
            # A home folder that is a repository must not make the own workspace a project's,
            # and a repository could bring a link to somebody's trusted memory.
            is_own = candidate == context.data_folder
            if not is_own and (candidate / MARK).is_file() and not candidate.is_symlink():
                return candidate
    return None


def find_explicit_folder(context: Context) -> tuple[Path, str] | None:
    """Return the folder that --workspace or MEM_WORKSPACE names, with the reason to show."""
    for value, reason in (
        (context.common.workspace, "given by --workspace"),
        (context.environment.get("MEM_WORKSPACE", ""), "given by MEM_WORKSPACE"),
    ):
        if value:
            return (context.folder / Path(value).expanduser()).resolve(), reason
    return None


def find_own_workspace(context: Context) -> Workspace | None:
    folder = context.data_folder
    if folder is None or not (folder / MARK).is_file():
        return None
    return open_folder(context, folder, "your own", find_repository(context.folder), is_own=True)


def find_recording_workspace(workspace: Workspace) -> Workspace | None:
    """Return the user's own workspace if it has the conversations of this one.

    What hooks record in a shared workspace goes there, so a purged text has to be deleted there.
    """
    own = find_own_workspace(workspace.context) if workspace.is_shared else None
    if own is None or own.root == workspace.root:
        return None
    own.gates = workspace.gates
    return own


def get_recording_workspace(workspace: Workspace) -> Workspace:
    """Return the workspace for conversations, and for memories learned from them.

    A shared workspace changes only by a command that somebody typed. Instead of it, this returns
    the user's own workspace, labelled with the project.
    """
    if workspace.is_own or workspace.context.common.scope or not workspace.is_shared:
        return workspace
    own = get_own_workspace(workspace)
    own.project = workspace.project or own.project
    return own


def get_own_workspace(workspace: Workspace) -> Workspace:
    """Return the user's own workspace, with the gates of another one."""
    if workspace.is_own:
        return workspace
    common = workspace.context.common._replace(scope="user", workspace="")
    own = get_target_workspace(workspace.context._replace(common=common))
    own.gates = workspace.gates
    own.build_purge_filter = workspace.build_purge_filter
    return own


def open_folder(
    context: Context,
    root: Path,
    reason: str,
    repository: Repository | None,
    *,
    is_own: bool = False,
) -> Workspace:
    """Open a folder that has a mem.yaml."""
    root = root.resolve()
    settings = read_settings(root, context.config_file, context.environment)
    if context.warn is not None and settings.problems:
        path, line, problem = settings.problems[0]
        more = len(settings.problems) - 1
        context.warn(f"{path}:{line}: {problem}{f' (and {more} more: mem check)' if more else ''}")
    machine = find_machine(root, context.state_folder)
    project = str(settings["project"]) or name_project(repository, context.state_folder)
    return Workspace(root, context, settings, machine, reason, project, is_own)


def name_project(repository: Repository | None, state: Path | None) -> str:
    """Return the name of a repository's folder; with folders above it if another project has it.

    Otherwise rules from the repository of one customer would reach agents in that of another.
    """
    if not repository or not state:
        return ""
    folder = state / "projects"
    names = read_record(folder)
    # Clones are one project. A repository can be moved, and get another address.
    places = {str(repository.git_folder.resolve()), find_remote(repository)} - {""}
    name = repository.project
    while places.isdisjoint(names.get(name, places)):
        name = f"{repository.git_folder.parent.parent.name}/{name}"
    if name not in names:
        names[name] = sorted(places)
        with suppress(OSError):  # a sandbox
            save_record(folder, names)
    return name

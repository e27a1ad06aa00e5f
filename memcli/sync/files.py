"""Choose the files of a workspace that git sends, and those that must not leave this machine."""

from contextlib import suppress
from os.path import lexists

from ..errors import NotFoundError, RejectedError, UsageError
from ..formats.merge import find_added_lines
from ..formats.text import find_conflict_line
from ..store.commit import Replace, commit_one, read_file
from ..store.gates import find_secret_problems
from ..store.init import LOCAL_PATHS, SHARED_ONLY_PATHS
from ..store.sessions import ARCHIVE, EVENTS, METADATA
from ..store.workspace import Workspace
from ..store.worktrees import find_repository
from .git import Repository
from .tree import Conflict

OWN_FILES = ("mem.yaml", ".gitignore", ".gitattributes")
# Names at the top of a repository that do not tell a memory from a project.
NEUTRAL_NAMES = (".", "README", "LICENSE", "COPYING")
ATTRIBUTES = ("*.md merge=mem", "purged.txt merge=mem", "mem.yaml merge=mem")


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
            "this memory is not a git repository yet", "give it a remote: mem sync ADDRESS"
        )
    excluded = repository.git_folder / "info" / "exclude"
    with suppress(OSError):
        if "/mem.yaml" in excluded.read_text("utf-8", "replace").splitlines():
            raise RejectedError(
                "this memory is private: its repository ignores it", f"see {excluded}"
            )


def check_contents(workspace: Workspace, repository: Repository) -> None:
    """Raise RejectedError for the repository of a project, whose files would be pushed too."""
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
    """List in .gitignore the files of this machine, and in .gitattributes the merge driver.

    `mem init` excludes notes and history too, because a project must not get them. Here git sends
    them, unless .gitignore is committed already: then its owner may have decided otherwise.
    """
    path = f"{workspace.prefix}.gitignore"
    before = read_file(workspace, path)
    lines = (before or "").splitlines()
    is_committed = bool(repository.run("ls-files", "--", path))
    sent = () if is_committed else SHARED_ONLY_PATHS
    after = [line for line in lines if line not in sent]
    after += [name for name in LOCAL_PATHS if name not in (*lines, *SHARED_ONLY_PATHS)]
    changes = [
        Replace(path, before, "".join(f"{line}\n" for line in after)),
        change_attributes(workspace),
    ]
    changes = [change for change in changes if change.before != change.after]
    if changes:
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


def list_pending(workspace: Workspace, repository: Repository) -> tuple[list[str], list[Conflict]]:
    """Return the changed paths to commit, and the files that must not be committed."""
    names = (*OWN_FILES, "MEMORY.md", "HISTORY*.md", "purged.txt", "entries", "notes")
    patterns = [f"{workspace.prefix}{name}" for name in names]
    patterns += workspace.settings["index.include"]
    patterns += ["mem.yaml", "*.md"] if workspace.is_vault else []
    status = repository.run(
        *("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", *patterns)
    )
    paths = []
    for path in (row[3:] for row in status.split("\0") if row):
        is_own = path.removeprefix(workspace.prefix) in OWN_FILES
        is_hidden = any(part.startswith(".") for part in path.split("/"))
        is_inner_repository = path.endswith("/")
        if is_own or not (is_hidden or is_inner_repository):
            paths.append(path)
    paths = list(dict.fromkeys([*paths, *list_pending_sessions(workspace, repository)]))
    pending, skipped = [], []
    heads = repository.read_blobs([f"HEAD:{path}" for path in paths])
    for path, head in zip(paths, heads, strict=True):
        reason = find_reason_to_skip(workspace, path, head)
        if reason:
            skipped.append(Conflict(path, reason))
        else:
            pending.append(path)
    return pending, skipped


def list_pending_sessions(workspace: Workspace, repository: Repository) -> list[str]:
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
    files = (EVENTS, METADATA, ARCHIVE)
    return [path for path in listed.split("\0") if path.count("/") >= 2 and path.endswith(files)]


def find_reason_to_skip(workspace: Workspace, path: str, head: str | None) -> str:
    """Return why a file must not be committed, or an empty string."""
    text = read_file(workspace, path)
    if text is None:
        return "not a regular file" if lexists(workspace.root / path) else ""
    line = find_conflict_line(text)
    if line is not None:
        return f"a git conflict marker in line {line}"
    problems = find_secret_problems(workspace, find_added_lines(head or "", text))
    problems += find_secret_problems(workspace, path) if head is None else []
    return problems[0].reason if problems else ""

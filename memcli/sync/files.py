"""Choose the files of a workspace that git sends, and those that must not leave this machine."""

import json
from contextlib import suppress
from os.path import lexists

from .. import __version__
from ..errors import NotFoundError, RejectedError, UsageError
from ..formats.merge import find_added_lines
from ..formats.text import find_conflict_line
from ..index.scan import read_ignored_patterns
from ..store.commit import Replace, commit_one, read_file
from ..store.files import read_small_text, save_private
from ..store.gates import find_secret_problems
from ..store.ignore import is_ignored
from ..store.init import LOCAL_PATHS, SHARED_ONLY_PATHS
from ..store.sessions import ARCHIVE, EVENTS, METADATA
from ..store.workspace import MARK, PURGED_IDS, Workspace
from .git import Repository
from .report import Conflict

REASONS = "not-sent.json"  # why files were not sent, in .mem/KEY
OWN_FILES = ("mem.yaml", ".gitignore", ".gitattributes")
# Names at the top of a repository that do not tell a memory from a project.
NEUTRAL_NAMES = (".", "README", "LICENSE", "COPYING")
ATTRIBUTES = ("*.md merge=mem", "purged.txt merge=mem", "mem.yaml merge=mem")


def check_own_repository(workspace: Workspace) -> None:
    """Raise an error if the workspace is not a git repository of its own."""
    if (workspace.root / ".git").exists():
        return
    if workspace.is_shared:
        raise UsageError(
            "this memory is part of a project's repository",
            f"commit it with the code: git add {workspace.root.name}; or sync your own memory:"
            " mem sync --scope user",
        )
    raise NotFoundError(
        "this memory is not a git repository yet", "give it a remote: mem sync ADDRESS"
    )


def check_contents(workspace: Workspace, repository: Repository) -> None:
    """Raise RejectedError for the repository of a project, whose files would be pushed too."""
    if repository.try_run("check-ignore", "--", MARK):
        raise RejectedError(
            "this memory is private: git ignores it", "see: git check-ignore -v mem.yaml"
        )
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
    paths = [
        *list_changed_files(workspace, repository),
        *list_changed_sessions(workspace, repository),
    ]
    heads = repository.read_blobs([f"HEAD:{path}" for path in paths])
    known = workspace.resources.setdefault("sync", read_reasons(workspace))
    pending, skipped, reasons = [], [], {}
    for path, head in zip(paths, heads, strict=True):
        key = build_file_key(workspace, path)
        if key not in known:
            known[key] = find_reason_to_skip(workspace, path, head)
        if known[key]:
            skipped.append(Conflict(path, known[key]))
            reasons[key] = known[key]
        else:
            pending.append(path)
    save_reasons(workspace, reasons)
    return pending, skipped


def list_changed_files(workspace: Workspace, repository: Repository) -> list[str]:
    """Return the files of the memory that differ from the last commit."""
    names = (*OWN_FILES, "MEMORY.md", "HISTORY*.md", "purged.txt", "entries", "notes")
    names_in_git = [f"{workspace.prefix}{name}" for name in names]
    names_in_git += workspace.settings["index.include"]
    names_in_git += ["mem.yaml", "*.md"] if workspace.is_vault else []
    ignored = read_ignored_patterns(workspace)
    options = ("--porcelain", "-z", "--untracked-files=all", "--no-renames")
    paths = []
    for row in repository.run("status", *options, "--", *names_in_git).split("\0"):
        path = row[3:]
        is_own = path.removeprefix(workspace.prefix) in OWN_FILES
        # A file that git has already is sent, so that the next merge can overwrite it.
        if row.startswith("??") and not is_own:
            is_hidden = any(part.startswith(".") for part in path.split("/"))
            is_inner_repository = path.endswith("/")
            if is_hidden or is_inner_repository or is_ignored(ignored, path):
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
    files = (EVENTS, METADATA, ARCHIVE)
    return [path for path in listed.split("\0") if path.count("/") >= 2 and path.endswith(files)]


def build_file_key(workspace: Workspace, path: str) -> str:
    """Return a key that changes with a file, and with the rules for secrets."""
    key = f"{__version__} {workspace.settings['secrets.personal']} {path}"
    with suppress(OSError):  # it was deleted
        status = (workspace.root / path).lstat()
        key += f" {status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {status.st_ino}"
    return key


def read_reasons(workspace: Workspace) -> dict[str, str]:
    """Return why files were not sent the last time, because a scan of a large file takes long."""
    folder = workspace.machine.folder
    with suppress(ValueError):
        return dict(json.loads(read_small_text(folder / REASONS))) if folder else {}
    return {}


def save_reasons(workspace: Workspace, reasons: dict[str, str]) -> None:
    folder = workspace.machine.folder
    if folder is not None and reasons != read_reasons(workspace):
        save_private(folder / REASONS, json.dumps(reasons).encode())


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

"""Find problems in the files of a workspace, and fix those that have one right answer.

No fix loses a text.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..context import Context
from ..errors import MemError, NotFoundError
from ..formats import (
    FrontmatterError,
    Problem,
    build_id,
    decode,
    find_conflict_line,
    is_binary,
    parse,
    parse_time,
    read_entry,
)
from ..index import (
    SECRET_NAME,
    Index,
    open_index,
    read_ignored_patterns,
    remove_leftovers,
    scan_workspace,
)
from ..reconcile import edit_file, find_circles, find_conflicts, find_repeats
from ..store import (
    EVENTS,
    MARK,
    Append,
    ChangeGroup,
    Commit,
    Replace,
    Workspace,
    commit,
    find_repository,
    find_secret_problems,
    find_sessions_folder,
    has_last_line_end,
    has_secret_name,
    is_ignored,
    list_sessions,
    mask_name,
    open_folder,
    read_file,
    repair_events,
    run_git,
)
from .lifecycle import repair_page


@dataclass(frozen=True, order=True)
class Finding:
    """A problem in a file."""

    path: str
    line: int
    reason: str


@dataclass
class Fix:
    """A problem, and the changes that fix it."""

    path: str
    reason: str
    line: int = 1
    changes: Sequence[Replace | Append] = ()


def find_problems(workspace: Workspace) -> list[Finding]:
    """Return the problems of all files, by path and line."""
    findings = list(find_known_problems(open_index(workspace)))
    for path in list_unindexed_files(workspace):
        with suppress(OSError):
            data = (read_file(workspace, path) or "").encode("utf-8", "surrogateescape")
            findings += find_file_problems(workspace, path, path, data)
    for fix in (*find_page_fixes(workspace), *find_session_fixes(workspace)):
        findings.append(Finding(fix.path, fix.line, fix.reason))
    for path in scan_workspace(workspace).leftovers:
        findings.append(Finding(path, 1, "a temporary file of a killed command"))
    return sorted(findings)


def find_known_problems(index: Index) -> Iterator[Finding]:
    """Yield the problems that are known without reading a file again."""
    workspace = index.workspace
    for path, entry_id in index.run(
        "select path, id from entries join files using(file) where id in"
        " (select id from entries group by id having count(*) > 1)"
    ):
        yield Finding(path, 1, f"another file has the id {entry_id} too")
    for path, problem in index.list_problems():
        yield Finding(path, problem.line, problem.reason)
    for setting in workspace.settings.problems:
        path = MARK if setting.path == workspace.root / MARK else str(setting.path)
        yield Finding(path, setting.line, setting.reason)
    for path, key, other in find_dangling(index):
        yield Finding(path, 1, f"{key} names {other}, which does not exist")
    for path, _ in find_circles(index):
        yield Finding(path, 1, "it and another memory replace each other")
    for winner, repeat in find_repeats(index):
        reason = f"{winner.path} has the same words: mem check --fix merges them"
        yield Finding(repeat.path, 1, reason)
    for first, second in find_conflicts(index):
        # `git merge` brought a second value. A conflict that a command found is noted in the file.
        is_noted = first.conflicts_with or second.conflicts_with
        is_repeat = first.summary == second.summary
        if first.key and first.key == second.key and not (is_noted or is_repeat):
            yield Finding(
                second.path, 1, f"{first.path} has another value of {first.key}: mem review"
            )


def fix_problems(workspace: Workspace) -> tuple[list[Fix], list[str], Commit]:
    """Fix the problems that have one right answer. Return fixes, messages and the commit."""
    fixed = [Fix(path, "a temporary file: deleted") for path in remove_leftovers(workspace)]
    index = open_index(workspace)
    messages: list[str] = []
    fixes = find_entry_fixes(index, messages)
    fixes += [*find_page_fixes(workspace), *find_session_fixes(workspace)]
    # A group for each file: one that the writer rejects does not stop the others.
    groups = [ChangeGroup(fix.changes) for fix in fixes]
    result = commit(workspace, "check", groups, summary=f"{len(fixes)} fixes")
    for fix, group in zip(fixes, groups, strict=True):
        error = result.get_error(group)
        if error is None:
            fixed.append(fix)
        else:
            messages.append(f"{fix.path}: {error.message}")
    return fixed, [*messages, *result.messages], result


def find_entry_fixes(index: Index, messages: list[str]) -> list[Fix]:
    """Return the fixes of frontmatters: one per file, because they change neighbouring lines."""
    workspace = index.workspace
    reasons: dict[str, list[str]] = defaultdict(list)
    fields: dict[str, dict[str, Any]] = defaultdict(dict)
    for path, created_at in [*find_without_id(index), *find_copies(index)]:
        moment = parse_time(created_at) or workspace.now
        fields[path]["id"] = build_id("mem", moment, workspace.context.noise)
        reasons[path].append("got a new id")
    for path, key, other in find_dangling(index):
        if not workspace.is_managed(path):
            continue
        if key == "superseded_by":
            # It stays out of searches, as the person or command that replaced it wanted.
            fields[path] |= {"superseded_by": None, "status": "superseded"}
        else:
            named = fields[path].get(key, index.list_entries("path = ?", (path,))[0].conflicts_with)
            fields[path][key] = tuple(item for item in named if item != other)
        reasons[path].append(f"relation to {other} removed")
    for path, changes in find_circles(index):
        fields[path] |= changes
        reasons[path].append("active again: mem review")
    for pair in find_repeats(index):
        for memory in pair:
            fields[memory.path] |= memory.fields
            reasons[memory.path].append("merged with the same words")
    for path, changes in find_wrong_values(index):
        fields[path] |= changes
        reasons[path].append("wrong values moved to metadata")
    fixes = []
    for path, changes in fields.items():
        try:
            edited = edit_file(workspace, path, changes)
        except MemError as error:
            messages.append(f"{path}: {error.message}")
            continue
        fixes.append(Fix(path, "; ".join(dict.fromkeys(reasons[path])), changes=[edited]))
    return fixes


def find_without_id(index: Index) -> list[tuple[str, str]]:
    """Return path and date of the entries that have frontmatter, but no id in it.

    A plain text is an entry too, and stays plain. A renamed file without an id is another memory.
    """
    return [
        (path, date)
        for path, date in index.run(
            "select path, created_at from entries join files using(file)"
            " where id = path and fields <> '{}' order by path"
        )
        if index.workspace.is_managed(path)
    ]


def find_copies(index: Index) -> list[tuple[str, str]]:
    """Return path and date of copies: files with the id of another file.

    mem names a file after the id, so the original is the one with that name, or the older one.
    """
    rows = index.run(
        "select id, path, created_at from entries join files using(file) where id in"
        " (select id from entries group by id having count(*) > 1)"
        " order by id, instr(path, substr(id, -6)) = 0, mtime, path"
    ).fetchall()
    seen = set()
    copies = []
    for entry_id, path, created_at in rows:
        if entry_id in seen and index.workspace.is_managed(path):
            copies.append((path, created_at))
        seen.add(entry_id)
    return copies


def find_dangling(index: Index) -> list[tuple[str, str, str]]:
    """Return path, key and value of the relations to ids that no file has.

    The successor of a note may be a path or a link, too. An import lengthens paths.
    """
    rows = index.run(
        "select files.path, 'superseded_by', superseded_by from entries join files using(file)"
        " where superseded_by <> '' and superseded_by not in (select id from entries)"
        " and lower(trim(superseded_by, '[]')) not in (select name from names)"
        " and not exists (select 1 from files where '/' || path like '%/' || superseded_by)"
        " union all select files.path, 'conflicts_with', value from entries join files using(file),"
        " json_each(conflicts_with) where value not in (select id from entries)"
    ).fetchall()
    # The memory was replaced, even if its successor was purged.
    purged_ids = index.workspace.read_purged_ids()
    return [row for row in rows if row[2] not in purged_ids]


def find_wrong_values(index: Index) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and changes that move a wrong value to the metadata."""
    rows = index.run(
        "select distinct files.path from problems join files using(file)"
        " join entries using(file) where fields <> '{}' and problems.code = ''"
    ).fetchall()
    # The index has masked texts, and an edit needs the values of the file.
    for (path,) in rows:
        try:
            document = parse(read_file(index.workspace, path) or "")
        except FrontmatterError:
            continue
        _, problems = read_entry(document, path, index.workspace.now)
        keys = [problem.reason.split()[0] for problem in problems]
        # Wrong metadata is no map, so nothing can be moved into it.
        if keys and "metadata" not in keys and index.workspace.is_managed(path):
            metadata = document.fields.get("metadata") or {}
            wrong = {key: document.fields[key] for key in keys}
            yield path, {**dict.fromkeys(keys), "metadata": {**metadata, **wrong}}


def find_page_fixes(workspace: Workspace) -> list[Fix]:
    line, changes = repair_page(workspace)
    reason = "states memories that changed or no longer exist"
    return [Fix(workspace.page_path, reason, line, changes)] if changes else []


def find_session_fixes(workspace: Workspace) -> list[Fix]:
    """Return the fixes of conversations with incomplete lines."""
    index = open_index(workspace)
    unreadable = {path for path, _ in index.list_problems()}
    fixes = []
    for session in list_sessions(workspace):
        path = f"{find_sessions_folder(workspace)}/{session.id}/{EVENTS}"
        # A conversation can have megabytes, so it is read only if something is wrong with it.
        if path in unreadable or not has_last_line_end(workspace, session):
            line, changes = repair_events(workspace, session)
            if changes:
                fixes.append(Fix(path, "an incomplete line", line, changes))
    return fixes


def list_unindexed_files(workspace: Workspace) -> list[str]:
    """Return the files to check that the index does not contain."""
    paths = [MARK, workspace.purged_path]
    if is_all_checked(workspace):
        # Also in a container without git.
        with suppress(MemError):
            names = run_git(
                workspace.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"
            )
            paths += names.decode("utf-8", "surrogateescape").split("\0")[:-1]
    ignored = read_ignored_patterns(workspace)
    return [
        path
        for path in dict.fromkeys(paths)
        if not workspace.get_kind(path) and not is_ignored(ignored, path)
    ]


def is_all_checked(workspace: Workspace) -> bool:
    """Return whether git carries the folder and all files in it belong to the memory."""
    # In a vault, and at the top of a repository, there may be code.
    return workspace.is_shared and not workspace.is_vault


def find_file_problems(
    workspace: Workspace, path: str, shown: str, data: bytes
) -> Iterator[Finding]:
    """Yield the problems of a file that is not in the index."""
    text, bad_bytes = decode(data)
    line = find_conflict_line(text)
    problems = [bad_bytes] if bad_bytes and workspace.get_kind(path) else []
    problems += [Problem(line, "a git conflict marker")] if line else []
    # git also carries pictures.
    problems += [] if is_binary(text) else find_secret_problems(workspace, text)
    problems = problems or find_frontmatter_problems(workspace, path, text)
    problems += [Problem(1, SECRET_NAME)] if has_secret_name(path) else []
    for problem in problems:
        yield Finding(mask_name(shown), problem.line, problem.reason)


def find_frontmatter_problems(workspace: Workspace, path: str, text: str) -> list[Problem]:
    """Return the problems of the frontmatter of a staged memory."""
    if workspace.get_kind(path) != "entry":
        return []
    try:
        document = parse(text)
    except FrontmatterError as error:
        return [Problem(error.line, error.reason)]
    _, wrong_values = read_entry(document, path, workspace.now)
    return wrong_values if workspace.is_managed(path) else []


def find_staged_problems(context: Context) -> list[Finding]:
    """Return the problems that git is about to commit, in every memory of the repository.

    In a linked worktree, these are its own files, not those of the main worktree.
    """
    repository = find_repository(context.folder)
    if repository is None:
        raise NotFoundError("no git repository in this folder or above it")
    top = repository.top
    # Deleted files cannot contain anything.
    names = run_git(top, "diff", "--cached", "--name-only", "-z", "--diff-filter=ACMR")
    workspaces: dict[Path, tuple[Workspace, list[Any]]] = {}
    findings: list[Finding] = []
    for name in names.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        file = top / name
        # Not from the working folder: git runs its hook at the top, and a memory may be deeper.
        root = next((parent for parent in file.parents if (parent / MARK).is_file()), None)
        if root is None:
            continue
        if root not in workspaces:
            workspace = open_folder(context, root, "", repository)
            workspaces[root] = workspace, read_ignored_patterns(workspace)
        workspace, ignored = workspaces[root]
        path = file.relative_to(root).as_posix()
        # Not the code. Its tests and examples contain texts that look like secrets.
        is_memory = workspace.get_kind(path) or path in (MARK, workspace.purged_path)
        if (is_memory or is_all_checked(workspace)) and not is_ignored(ignored, path):
            findings += find_file_problems(workspace, path, name, run_git(top, "show", f":{name}"))
    return findings

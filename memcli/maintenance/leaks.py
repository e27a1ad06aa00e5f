"""Find secrets in the files of a workspace, and ignore files that name memories already kept."""

from collections.abc import Iterable, Iterator

from ..formats.ignore_patterns import ignored
from ..index.file_reader import try_bytes
from ..index.scan import scan
from ..secrets import scanner
from ..store.git import in_repository, staged
from ..store.privacy import IGNORE, ignore_text
from ..store.redaction import redactor
from ..store.workspace import Workspace
from .invariants import Fault


def leaks_in(workspace: Workspace, *, everywhere: bool) -> list[Fault]:
    """Return the secrets in the files of a workspace.

    `everywhere` includes conversations and, in a git repository, staged versions that differ from the files.
    """
    texts = dict(all_texts(workspace, sessions=everywhere))
    found = [*leaks(workspace, texts.items()), *misplaced(workspace, texts)]
    environ, folder = workspace.environ, workspace.folder
    if everywhere and in_repository(workspace, environ, folder):
        versions = [(one.path, one.data.decode("utf-8", "replace")) for one in staged(workspace, environ, folder)]
        others = [(path, text) for path, text in versions if texts.get(path) != text]
        found += leaks(workspace, others, " in the version staged for git")
    return found


def leaks(workspace: Workspace, texts: Iterable[tuple[str, str]], where: str = "") -> Iterator[Fault]:
    """Yield the places in texts, given by path, that look like a secret; `where` says which version of a file it is."""
    guard = redactor(workspace, "check")
    allowed = "\n".join(workspace.settings["secrets.allow"])
    for path, text in texts:
        if allowed and ignored(allowed, path):
            continue
        for one in scanner.scan(text, personal=guard.personal, values=guard.values):
            what = "personal data" if one.group == "personal" else "a secret"
            reason = f"looks like {what} ({one.rule}){where}: remove it, or name the file in the setting secrets.allow"
            yield Fault(path, one.line, reason, "secret")


def misplaced(workspace: Workspace, paths: Iterable[str]) -> Iterator[Fault]:
    """Yield the lines of ignore files that name memories: exceptions from `check` are a setting."""
    known = list(paths)
    for folder, prefix in ((workspace.root, ""), (workspace.root.parent, f"{workspace.root.name}/")):
        for number, line in enumerate(ignore_text(folder).splitlines(), 1):
            named = [path for path in known if line.strip() and ignored(line, f"{prefix}{path}")]
            if not named:
                continue
            moved = line.strip().removeprefix("/").removeprefix(prefix)
            allowed = ", ".join(dict.fromkeys((*workspace.settings["secrets.allow"], moved)))
            also = f" and {len(named) - 1:,} more" if named[1:] else ""
            reason = (
                f"names {named[0]}{also}, in memory already: what it names is kept out, and exceptions of `mem check`"
                f" are a setting: remove the line and run `mem config set secrets.allow '{allowed}'`"
            )
            yield Fault(f"../{IGNORE}" if prefix else IGNORE, number, reason, "secret")


def all_texts(workspace: Workspace, *, sessions: bool) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of a workspace, conversations included where that is asked."""
    for path in sorted(scan(workspace.root, workspace.layout).stats):
        kind = workspace.layout.kind_of(path)
        got = try_bytes(workspace, path) if kind and (sessions or kind != "session") else ""
        if not isinstance(got, str):
            yield path, got[0].decode("utf-8", "replace")

"""Find secrets in what a workspace holds and in what git is about to commit of it.

Blanks nothing out: what was stored is its owner's to remove, and a secret that was committed is to be changed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..index.reading import try_bytes
from ..index.scan import scan
from ..store.redaction import redactor
from ..store.workspace import Workspace
from ..text import secrets
from ..text.ignore import ignored
from .invariants import Fault

IGNORE = ".secretsignore"


def leaks(workspace: Workspace, texts: Iterable[tuple[str, str]], where: str = "") -> Iterator[Fault]:
    """Yield the places in texts, given by path, that look like a secret; `where` says which version of a file it is."""
    guard = redactor(workspace, "check")
    ignore = [(f"{prefix}", _text(folder / IGNORE)) for folder, prefix in _folders(workspace)]
    for path, text in texts:
        if any(patterns and ignored(patterns, f"{prefix}{path}") for prefix, patterns in ignore):
            continue
        for one in secrets.scan(text, personal=guard.personal, values=guard.values):
            what = "personal data" if one.group == "personal" else "a secret"
            reason = f"looks like {what} ({one.rule}){where}: remove it, or name the file in {IGNORE}"
            yield Fault(path, one.line, reason, "secret")


def all_texts(workspace: Workspace, *, sessions: bool) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file of a workspace, conversations included where that is asked."""
    for path in sorted(scan(workspace.root, workspace.layout).stats):
        kind = workspace.layout.kind_of(path)
        got = try_bytes(workspace, path) if kind and (sessions or kind != "session") else ""
        if not isinstance(got, str):
            yield path, got[0].decode("utf-8", "replace")


def _folders(workspace: Workspace) -> list[tuple[Path, str]]:
    """Give the folders whose ignore files count, each with the workspace's path below it."""
    return [(workspace.root, ""), (workspace.root.parent, f"{workspace.root.name}/")]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""

"""Refuse secrets that an agent would put into a memory on purpose; what it did not write is not held against it."""

from collections import Counter

from ..errors import RefusedError
from ..store.redaction import redactor
from ..store.workspace import Workspace


def refuse_secrets(workspace: Workspace, path: str, new: str, old: str = "", fix: str = "leave it out") -> None:
    """Raise RefusedError, naming line and rule, where a text holds a secret that the text before did not."""
    guard = redactor(workspace, path)
    guard.text(new)
    found, guard.found = guard.found, []
    if not found:
        return
    guard.text(old)
    known = Counter(one.rule for one in guard.found)
    for one in found:
        known[one.rule] -= 1
        if known[one.rule] < 0:
            raise RefusedError(f"{path}:{one.line}: looks like a secret ({one.rule})", fix)

"""Refuse secrets that an agent would put into a memory on purpose; what it did not write is not held against it."""

from collections import Counter

from ..errors import RefusedError
from ..store.redaction import redactor
from ..store.workspace import Workspace


def keepable(workspace: Workspace, path: str, new: str, old: str = "", fix: str = "leave it out") -> str:
    """Give the text as it may be kept: without personal data where the settings say so.

    Raise RefusedError, naming line and rule, where it holds a secret that the text before did not.
    """
    guard = redactor(workspace, path)
    kept = new if guard.refuses_personal else guard.text(new, only="personal")
    guard.text(kept)
    found, guard.found = guard.refused, []
    if not found:
        return kept
    guard.text(old)
    known = Counter(one.rule for one in guard.found)
    for one in found:
        known[one.rule] -= 1
        if known[one.rule] < 0:
            raise RefusedError(f"{path}:{one.line}: looks like a secret ({one.rule})", fix)
    return kept
